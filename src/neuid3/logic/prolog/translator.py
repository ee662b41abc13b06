from typing import Any
def translate(grounder: Any, request: dict[str, Any]) -> dict[str, Any]:
    raise NotImplementedError
