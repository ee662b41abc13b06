"use strict";
// Draws the page from the JSON beside it. Names come from the data, so they are inserted only as text, never as HTML.

const content = JSON.parse(document.getElementById("content").textContent);
const examples = new Map(content.examples.map((example) => [example.row, example]));
const rows = content.examples.map((example) => example.row);
const isTest = (node) => node.test !== undefined;
const numbers = content.numbers; // null for a tree that predicts classes
let chosen = null;

// Numbers as text ------------------------------------------------------------------------------------------

const count = (number) => Math.round(number).toLocaleString("en");
const many = (number, one, more) => `${count(number)} ${Math.round(number) === 1 ? one : more}`;

// Rounding as in Python: a number exactly halfway between two texts becomes the even one.
function fixed(number, digits) {
  const halves = number * 2 ** (digits + 1);
  if (!Number.isInteger(halves) || halves % 2 === 0) return number.toFixed(digits);
  const below = Math.floor(number * 10 ** digits);
  return ((below + (below % 2)) / 10 ** digits).toFixed(digits);
}

function percent(share) {
  if (share > 0 && share < 0.0005) return "<0.1%";
  if (share < 1 && share > 0.9995) return ">99.9%";
  const digits = share === 0 || share === 1 || (share >= 0.0995 && share < 0.9) ? 0 : 1;
  return `${(100 * Number(fixed(share, digits + 2))).toFixed(digits)}%`;
}

function letters(index) {
  const rest = Math.floor(index / 26);
  return (rest ? letters(rest - 1) : "") + String.fromCharCode(65 + (index % 26));
}

// Building blocks ----------------------------------------------------------------------------------

function make(tag, attributes = {}, ...children) {
  const drawing = ["svg", "path", "polyline", "circle", "text", "title"].includes(tag);
  const element = drawing ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const code = (text) => make("code", {}, text);

function titled(heading, sentence, ...rest) {
  return make("div", { class: "title" }, make("h2", {}, heading), make("p", {}, sentence), ...rest);
}

function bar(shares) {
  const total = shares.reduce((sum, share) => sum + share, 0) || 1;
  return make("div", { class: "bar", "aria-hidden": "true" }, ...shares.map((share, index) => {
    const part = make("span", { class: `c${index % 8}` });
    part.style.width = `${(100 * share) / total}%`;
    return part;
  }));
}

// The shares of few classes in their order; of many classes, the largest shares.
function shareText(shares, most = 4) {
  const total = shares.reduce((sum, share) => sum + share, 0) || 1;
  const ranked = shares.map((share, index) => [share / total, index]);
  if (ranked.length > most) ranked.sort((a, b) => b[0] - a[0]);
  const parts = ranked.slice(0, most).map(([share, index]) =>
    make("span", {}, make("span", { class: `key c${index % 8}`, "aria-hidden": "true" }), `${content.classes[index]} ${percent(share)}`));
  const rest = most > 1 && ranked.length > most ? [make("span", {}, `${ranked.length - most} more`)] : [];
  return make("span", { class: "shares-in-words" }, ...parts, ...rest);
}

// Pictures and tiles -------------------------------------------------------------------------------

function picture(example, column) {
  const name = `${column} of example ${example.row}`;
  const drawn = content.pictures[example.pictures[column]];
  if (drawn === null) return make("span", { class: "picture missing", role: "img", "aria-label": `${name}, missing` }, "missing");
  if (typeof drawn === "string") {
    const image = make("img", { class: "picture", alt: name, src: `data:image/png;base64,${drawn}`, draggable: "false" });
    image.addEventListener("load", () => image.classList.toggle("small", image.naturalWidth <= 32));
    return image;
  }
  const step = 100 / Math.max(1, drawn.length - 1);
  const points = drawn.map((height, index) => `${(index * step).toFixed(1)},${100 - height}`).join(" ");
  return make("svg", { class: "picture line", viewBox: "-4 -4 108 108", preserveAspectRatio: "none", role: "img", "aria-label": name },
    make("polyline", { points, "vector-effect": "non-scaling-stroke" }));
}

const hasPicture = (example, column) => example.pictures[column] !== undefined;

// The class or number of an example, if it is known.
function truth(example) {
  if (numbers) return numbers.predictions[example.row][1] ?? "";
  return example.label === null ? "" : content.classes[example.label];
}

// What a leaf says, in a few words.
const saidAt = (number) => (numbers ? numbers.nodes[number].said : shareText(content.nodes[number].probabilities, 1));

function tile([row, probability, columns], meaning, labelled = true) {
  const example = examples.get(row);
  const label = labelled ? truth(example) : "";
  const entries = columns.filter((column) => column in example.values).map((column) => `${column}: ${example.values[column]}`);
  const drawn = columns.filter((column) => hasPicture(example, column));
  const spoken = [`Example ${row}`, meaning(probability), label && `labelled ${label}`, ...entries].filter(Boolean).join(", ");
  const button = make("button", { type: "button", class: "tile", "data-row": row, "aria-pressed": "false", "aria-label": spoken, tabindex: "-1" },
    drawn.length ? make("span", { class: "pictures" }, ...drawn.map((column) => picture(example, column))) : null,
    entries.length ? make("span", { class: "words" }, ...entries.flatMap((line, index) => (index ? [make("br"), line] : [line]))) : null,
    make("strong", { class: "caption" }, percent(probability)),
    label ? make("span", { class: "caption" }, label) : null);
  button.addEventListener("click", () => choose(chosen === row ? null : row));
  return button;
}

// The tile of a network value does not show the class of the example.
const networkTile = (shown, meaning) => tile(shown, meaning, false);

// A tile without pictures: the number of the example.
function chip([row, probability, columns], meaning) {
  const example = examples.get(row);
  const button = tile([row, probability, columns], meaning);
  button.classList.add("chip");
  button.title = columns.map((column) => `${column}: ${example.values[column]}`).join(", ");
  button.replaceChildren(String(row));
  return button;
}

function tiles(strip, meaning, name, draw = tile) {
  const list = make("div", { class: draw === chip ? "tiles chips" : "tiles", role: "group", "aria-label": name }, ...strip.map((shown) => draw(shown, meaning)));
  const pictures = strip.map(([row, , columns]) => columns.filter((column) => hasPicture(examples.get(row), column)).length);
  list.style.setProperty("--pictures", Math.min(4, Math.max(1, ...pictures)));
  if (list.firstChild) list.firstChild.tabIndex = 0;
  return list;
}

function strip(mark, heading, shown, meaning, empty) {
  return make("section", { class: "strip" },
    make("h4", {}, make("span", { "aria-hidden": "true" }, `${mark} `), heading),
    shown.length ? tiles(shown, meaning, heading) : make("p", { class: "soft" }, empty));
}

// The path to a node --------------------------------------------------------------------------------

const parents = new Map();
content.nodes.forEach((node, number) => {
  if (isTest(node)) [[node.yes, true], [node.no, false]].forEach(([child, response]) => parents.set(child, { number, response }));
});
const tests = content.nodes.map((node, number) => number).filter((number) => isTest(content.nodes[number]));
const names = new Map();
content.nodes.forEach((node, number) => {
  const leaves = content.nodes.slice(0, number).filter((other) => !isTest(other)).length;
  names.set(number, isTest(node) ? String(tests.indexOf(number) + 1) : letters(leaves));
});

function pathTo(number) {
  const path = [];
  for (let step = parents.get(number); step; step = parents.get(step.number)) path.unshift(step);
  return path;
}

// The probability of every node for the chosen example; without one, the share of all examples.
function flow(row) {
  const total = content.nodes[0].mass || 1;
  if (row === null) return content.nodes.map((node) => node.mass / total);
  const reached = [1];
  tests.forEach((number, index) => {
    const response = examples.get(row).responses[index];
    reached[content.nodes[number].yes] = response === null ? 0 : reached[number] * response;
    reached[content.nodes[number].no] = response === null ? 0 : reached[number] * (1 - response);
  });
  return reached;
}

// The tree -----------------------------------------------------------------------------------------

const tree = document.getElementById("tree");
const wires = make("svg", { "aria-hidden": "true" });
const THICK = 16;

function networkMark(node) {
  const known = node.statistics;
  if (!known || known.decided === null) return [];
  const mark = known.nearChance ? " (!)" : "";
  return [make("span", { class: known.nearChance ? "decided chance" : "decided" }, `decided ${fixed(known.decided, 2)}${mark}`)];
}

function drawTree() {
  tree.append(wires);
  content.nodes.forEach((node, number) => {
    const step = parents.get(number);
    const depth = pathTo(number).length;
    const edge = make("span", { class: "answer" }, step ? (step.response ? "yes" : "no") : "");
    const what = isTest(node)
      ? make("span", { class: "what" }, code(node.test), ...networkMark(node))
      : make("span", { class: "what" }, node.goal ? code(`→ ${node.goal}`) : saidAt(number), numbers ? null : bar(node.probabilities));
    const item = make("div", { class: "node", role: "treeitem", id: `tree-${number}`, "aria-level": depth + 1, tabindex: number ? "-1" : "0" },
      make("span", { class: isTest(node) ? "badge" : "badge leaf" }, names.get(number)), edge, what, make("span", { class: "number" }));
    item.style.marginLeft = `${depth * 1.4}rem`;
    item.addEventListener("click", () => visit(number));
    item.addEventListener("keydown", (event) => walkTree(event, number));
    tree.append(item);
    if (step) wires.append(make("path", { "data-to": number }));
  });
}

function visit(number) {
  const target = document.getElementById(`node-${number}`);
  if (!target) return;
  target.focus({ preventScroll: true });
  target.scrollIntoView({ block: "start" });
}

function walkTree(event, number) {
  const node = content.nodes[number];
  const next = {
    ArrowUp: number - 1,
    ArrowDown: number + 1,
    ArrowLeft: parents.get(number)?.number,
    ArrowRight: node.yes,
    Home: 0,
    End: content.nodes.length - 1,
  }[event.key];
  if (event.key === "Enter" || event.key === " ") visit(number);
  else if (next === undefined || !content.nodes[next]) return;
  else moveFocus(tree.querySelectorAll(".node"), document.getElementById(`tree-${next}`));
  event.preventDefault();
}

// Of several elements, Tab reaches the one that had the focus last.
function moveFocus(all, target) {
  all.forEach((element) => (element.tabIndex = element === target ? 0 : -1));
  target.focus();
}

function showFlow() {
  const reached = flow(chosen);
  content.nodes.forEach((node, number) => {
    const item = document.getElementById(`tree-${number}`);
    item.querySelector(".number").textContent = percent(reached[number]);
    item.classList.toggle("away", reached[number] < 0.0005);
    const doubt = isTest(node) && node.statistics && node.statistics.nearChance ? ", close to chance" : "";
    const what = isTest(node) ? `Test ${names.get(number)}, ${node.test}${doubt}` : `Leaf ${names.get(number)}, ${node.goal || (numbers ? saidAt(number) : saidAt(number).textContent)}`;
    const step = parents.get(number);
    const side = step ? `, the ${step.response ? "yes" : "no"} side of test ${names.get(step.number)}` : "";
    const who = chosen === null ? "of the examples get here" : `is the probability that example ${chosen} gets here`;
    item.setAttribute("aria-label", `${what}${side}; ${percent(reached[number])} ${who}`);
  });
  layWires(reached);
}

// Two wires leave a test: "no" on the left runs on down, "yes" beside it turns off first.
function layWires(reached) {
  const at = (number) => document.getElementById(`tree-${number}`);
  tests.forEach((number) => {
    const { yes, no } = content.nodes[number];
    const widths = [yes, no].map((child) => THICK * reached[child]);
    const from = at(number).querySelector(".badge");
    const middle = at(number).offsetLeft + from.offsetLeft + from.offsetWidth / 2;
    const left = middle - (widths[0] + widths[1]) / 2;
    const spine = [left + widths[1] + widths[0] / 2, left + widths[1] / 2];
    const top = at(number).offsetTop + from.offsetTop + from.offsetHeight / 2;
    [yes, no].forEach((child, side) => {
      const end = at(child);
      const x = end.offsetLeft + end.querySelector(".badge").offsetLeft;
      const y = end.offsetTop + end.offsetHeight / 2;
      const bend = Math.min(10, x - spine[side]);
      const path = wires.querySelector(`[data-to="${child}"]`);
      path.setAttribute("d", `M${spine[side]} ${top}V${y - bend}Q${spine[side]} ${y} ${spine[side] + bend} ${y}H${x}`);
      path.style.strokeWidth = Math.max(1, widths[side]);
      path.classList.toggle("none", reached[child] < 0.0005);
    });
  });
}

// The chosen example -------------------------------------------------------------------------------

const panel = document.getElementById("example");
const dock = document.getElementById("dock");

function choose(row) {
  chosen = row;
  document.querySelectorAll(".tile").forEach((button) => button.setAttribute("aria-pressed", String(Number(button.dataset.row) === row)));
  showExample();
  showFlow();
  showChosen();
}

function chooser() {
  const box = make("input", { id: "number", inputmode: "numeric", list: "rows", autocomplete: "off", value: chosen ?? "" });
  const problem = make("span", { class: "problem", role: "alert" });
  const pick = () => {
    const wanted = Number(box.value);
    if (box.value.trim() === "") return;
    if (examples.has(wanted)) return choose(wanted), document.getElementById("number").focus();
    const near = rows.reduce((best, row) => (Math.abs(row - wanted) < Math.abs(best - wanted) ? row : best), rows[0]);
    problem.textContent = `Example ${box.value.trim()} is not in this page, which holds ${count(rows.length)} of ${count(content.rows)}; the nearest is ${near}.`;
  };
  box.addEventListener("change", pick);
  box.addEventListener("keydown", (event) => event.key === "Enter" && pick());
  const step = (by) => {
    const index = chosen === null ? (by > 0 ? 0 : rows.length - 1) : (rows.indexOf(chosen) + by + rows.length) % rows.length;
    choose(rows[index]);
    panel.querySelector(by > 0 ? ".next" : ".previous").focus();
  };
  const button = (text, name, kind, act) => {
    const made = make("button", { type: "button", "aria-label": name, class: kind }, text);
    made.addEventListener("click", act);
    return made;
  };
  return make("div", { class: "chooser" },
    make("label", { for: "number" }, "Example"), box, make("datalist", { id: "rows" }, ...rows.map((row) => make("option", { value: row }))),
    button("←", "Previous example", "previous", () => step(-1)), button("→", "Next example", "next", () => step(1)),
    chosen === null ? null : button("Clear", "Clear the choice", "clear", () => choose(null)), problem);
}

function portrait(example) {
  const figures = content.columns.filter((column) => hasPicture(example, column) || column in example.values).map((column) =>
    hasPicture(example, column)
      ? make("figure", {}, picture(example, column), make("figcaption", {}, column))
      : make("figure", { class: "words" }, make("strong", {}, example.values[column]), make("figcaption", {}, column)));
  return make("div", { class: "portrait" }, ...figures);
}

function classList(example) {
  const list = make("div", { class: "classes" });
  if (numbers) {
    const [said, known] = numbers.predictions[example.row];
    [["predicted", said], ["its number", known]].filter(([, text]) => text !== null).forEach(([name, text]) =>
      list.append(make("span", {}, name), make("span", {}), make("span", { class: "number" }, text)));
    return list;
  }
  example.classes.map((share, index) => [share, index]).sort((a, b) => b[0] - a[0]).slice(0, 8).forEach(([share, index]) => {
    const fill = make("span", { class: `c${index % 8}` });
    fill.style.width = `${100 * share}%`;
    const truth = example.label === index ? " (its label)" : "";
    list.append(make("span", {}, content.classes[index] + truth), make("div", { class: "bar", "aria-hidden": "true" }, fill), make("span", { class: "number" }, percent(share)));
  });
  return list;
}

// The prediction for an example in a few words.
function predicted(example) {
  if (numbers) return numbers.predictions[example.row][0];
  return `${content.classes[best(example)]} ${percent(example.classes[best(example)])}`;
}

function best(example) {
  return example.classes.indexOf(Math.max(...example.classes));
}

function showExample() {
  const example = examples.get(chosen);
  panel.replaceChildren(make("h2", {}, example ? `Example ${chosen}` : "All examples"));
  const origin = example && example.learned !== null ? (example.learned ? "The tree was learned from this example." : "The tree was not learned from this example.") : null;
  if (example) panel.append(portrait(example), classList(example), ...(origin ? [make("p", { class: "soft" }, origin)] : []));
  else panel.append(make("p", { class: "soft" }, "Choose one of the tiles, or a number, to follow that example through the tree. Press Escape to clear the choice."));
  if (rows.length) panel.append(chooser());
  document.getElementById("flow").textContent = example
    ? `Lines are as wide as the probability that example ${chosen} goes that way.`
    : "Lines are as wide as the share of the examples that goes that way.";
  document.getElementById("status").textContent = example ? `Example ${chosen}: ${predicted(example)}` : "All examples";
  dock.hidden = !example;
  dock.replaceChildren();
  if (!example) return;
  const show = make("button", { type: "button" }, "Show");
  show.addEventListener("click", () => panel.scrollIntoView({ block: "start" }));
  const clear = make("button", { type: "button", "aria-label": "Clear the choice" }, "✕");
  clear.addEventListener("click", () => choose(null));
  dock.append(make("p", {}, `Example ${chosen}: `, make("strong", {}, predicted(example))), show, clear);
}

// The line about the chosen example in every test and network.
function showChosen() {
  const reached = flow(chosen);
  tests.forEach((number, index) => {
    const line = document.getElementById(`chosen-${number}`);
    line.hidden = chosen === null;
    if (chosen === null) return;
    const response = examples.get(chosen).responses[index];
    line.textContent = response === null || reached[number] < 0.00005
      ? `Example ${chosen} does not get here.`
      : `Example ${chosen} gets here with ${percent(reached[number])}, and then the response is yes with ${percent(response)}.`;
  });
  content.networks.forEach((network, number) => {
    const line = document.getElementById(`values-${number}`);
    line.hidden = chosen === null;
    if (chosen === null) return;
    const values = examples.get(chosen).networkValues[number]
      .map((value, use) => (value === null ? null : `${network.inputs[use].join(" with ")} is ${network.values[value].name}`))
      .filter(Boolean);
    line.textContent = `Example ${chosen}: ${values.join(", ") || "the network was not called"}.`;
  });
}

// The evidence -------------------------------------------------------------------------------------

function numberRows(node) {
  const found = numbers.nodes[content.nodes.indexOf(node)];
  const kinds = [["when grown", found.said], ["in this table", found.found], ["mean residual", found.residual]].filter(([, text]) => text);
  if (!kinds.length) return null;
  return make("section", {}, make("h4", {}, "Numbers that get here"),
    make("div", { class: "shares" }, ...kinds.flatMap(([name, text]) => [make("span", {}, name), make("span", {}, text)])));
}

function shareRows(node) {
  if (numbers) return numberRows(node);
  const kinds = [["when grown", node.training], ["in this table", node.shares]].filter(([, masses]) => masses && masses.some((mass) => mass > 0));
  if (!kinds.length) return null;
  return make("section", {}, make("h4", {}, "Classes that get here"),
    make("div", { class: "shares" }, ...kinds.flatMap(([name, masses]) => [make("span", {}, name), bar(masses), make("span", { class: "words" }, shareText(masses))])));
}

function nodeStatistics(node) {
  const gainText = (gain) => (numbers ? `${fixed(100 * gain, 1)}% of the variance` : `${fixed(gain, 2)} bits`);
  const list = make("dl", { class: "statistics" });
  const add = (name, value, more) => list.append(make("div", {}, make("dt", {}, name), make("dd", {}, value, more ? make("span", {}, ` ${more}`) : null)));
  const sum = (masses) => masses.reduce((total, mass) => total + mass, 0);
  if (node.gain !== null && node.gain !== undefined) add("Gain", gainText(node.gain));
  const known = node.statistics;
  if (known && known.decided !== null) add("Decided", fixed(known.decided, 2), "(0 chance, 1 certain)");
  if (known && known.unseen !== null) add("Gain on unseen", gainText(known.unseen), `of ${many(known.unseenMass, "example", "examples")}`);
  if (known && known.trained !== null) add("Gain on training", gainText(known.trained));
  const root = content.nodes[0];
  if (node.training && root.training) add("Reach when grown", node.trainingMass, `of ${root.trainingMass} (${percent(sum(node.training) / (sum(root.training) || 1))})`);
  add("Reach in this table", count(node.mass), `of ${count(content.rows)} (${percent(node.mass / content.rows)})`);
  return list;
}

function pathText(number) {
  const path = pathTo(number);
  if (!path.length) return make("p", {}, "The root, which every example reaches.");
  const parts = path.flatMap((step, index) => [index ? ", " : "", code(content.nodes[step.number].test), step.response ? " is true" : " is false"]);
  return make("p", {}, "Reached when ", ...parts, ".");
}

function rules(node) {
  if (!node.rules.length) return null;
  const links = node.networks.flatMap((name, index) => [index ? ", " : " Uses the network ", make("a", { href: `#network-${networkNumber(name)}` }, name)]);
  return make("section", {}, make("h4", {}, "The rules behind it"),
    make("pre", { class: "rules" }, ...node.rules.map((rule) => make("span", {}, rule))),
    links.length ? make("p", { class: "soft" }, ...links, ".") : null);
}

const networkNumber = (name) => content.networks.findIndex((network) => network.name === name);

// A symbolic test has a table instead of pictures: a summary of its columns on both sides, and examples by number.
function sides(node, meaning) {
  const labelled = content.nodes[0].shares !== null;
  const cell = (name, ...children) => make("td", { "data-name": name }, ...children);
  const row = (side, index) => make("tr", {},
    make("th", { scope: "row" }, index ? "✗ no" : "✓ yes"),
    cell("examples", count(side.mass)),
    labelled ? cell("classes", side.mass > 0 ? shareText(side.shares) : "none") : null,
    ...side.values.map((value, column) => cell(node.columns[column], value)),
    cell("some of them", tiles(node.strips[index ? 2 : 0], meaning, index ? "Most surely false" : "Most surely true", chip)));
  const head = ["response", "examples", ...(labelled ? ["classes"] : []), ...node.columns, "some of them"];
  return make("table", {},
    make("thead", {}, make("tr", {}, ...head.map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", {}, ...node.sides.map(row)));
}

function strips(node, meaning) {
  const [sure, unsure, not] = node.strips;
  return make("div", { class: "strips" },
    strip("✓", "Most surely true", sure, meaning, "None: no example that gets here is more likely yes than no."),
    strip("?", "Most undecided", unsure, meaning, "None: every response has a probability of at least 95%."),
    strip("✗", "Most surely false", not, meaning, "None: no example that gets here is more likely no than yes."));
}

// The warning of a test that is close to chance.
function warning(node) {
  if (!node.statistics || !node.statistics.nearChance) return null;
  return make("p", { class: "warning" }, make("strong", {}, "(!) Close to chance. "),
    "The outputs of its networks are close to uniform, or its gain on unseen examples is far below that on the examples that its networks were trained on. Do not read much into the subtree below it.");
}

function testCard(number) {
  const node = content.nodes[number];
  const meaning = (probability) => `yes with ${percent(probability)}`;
  const undecided = node.sides && node.strips[1].length ? strip("?", "Most undecided", node.strips[1], meaning) : null;
  return make("article", { id: `node-${number}`, tabindex: "-1", "aria-label": `Test ${names.get(number)}: ${node.test}` },
    make("header", {}, make("span", { class: "badge" }, names.get(number)), make("h3", {}, code(node.test)), pathText(number)),
    make("p", { class: "chosen", id: `chosen-${number}`, hidden: true }),
    warning(node),
    nodeStatistics(node),
    make("div", { class: "pair" }, rules(node), shareRows(node)),
    node.sides ? sides(node, meaning) : strips(node, meaning),
    undecided);
}

function leafCard(number) {
  const node = content.nodes[number];
  const path = pathTo(number).flatMap((step, index) => [index ? ", " : "", code(content.nodes[step.number].test), step.response ? " is true" : " is false"]);
  return make("article", { id: `node-${number}`, tabindex: "-1", "aria-label": `Leaf ${names.get(number)}` },
    make("header", {}, make("span", { class: "badge leaf" }, names.get(number)), make("h3", {}, node.goal ? code(`→ ${node.goal}`) : numbers ? saidAt(number) : shareText(node.probabilities)),
      path.length ? make("p", {}, "When ", ...path, ".") : make("p", {}, "The only leaf.")),
    node.goal ? make("p", {}, `The prediction is the value of the goal; with ${percent(node.noise)} it follows what the leaf says without it.`) : null,
    nodeStatistics(node), node.goal ? make("div", { class: "pair" }, rules(node), shareRows(node)) : shareRows(node));
}

function networkCard(network, number) {
  const reads = network.inputs.map((columns) => columns.join(" with ")).join(", or ");
  const branches = network.branches.flatMap((branch, index) => [index ? ", " : "", make("a", { href: `#node-${branch}` }, names.get(branch))]);
  const values = network.values.map((value) => make("div", { class: "value" },
    make("div", { class: "head" }, make("div", { class: "name" }, value.name),
      make("div", { class: "often" }, value.count ? `${many(value.count, "time", "times")} of ${count(network.calls)}, ${percent(value.probability)} on average` : "never")),
    value.count ? tiles(value.tiles, (probability) => `${value.name} with ${percent(probability)}`, `${value.name} according to ${network.name}`, networkTile) : make("p", { class: "soft" }, "It is never the most probable value in this table.")));
  return make("article", { id: `network-${number}`, tabindex: "-1", "aria-label": `Network ${network.name}` },
    make("div", { class: "title" }, make("h3", {}, code(network.name), " predicts ", code(network.predicate)),
      make("p", {}, `It reads ${reads}, for test `, ...branches, "."),
      ...(network.fixed ? [make("p", { class: "soft" }, `${network.fixed.includes("given labels") ? "The" : "By the tree alone, the"} meaning of its values is ${network.fixed}.`)] : [])),
    make("p", { class: "chosen", id: `values-${number}`, hidden: true }),
    make("div", { class: "values" }, ...values));
}

// Confidence from left to right, accuracy from bottom to top; vertical lines are two standard errors each way.
function reliabilityCard(found) {
  const x = (value) => 200 * value, y = (value) => 200 * (1 - value), clip = (value) => Math.min(1, Math.max(0, value));
  const most = Math.max(...found.bins.map((bin) => bin.rows));
  const marks = found.bins.flatMap((bin) => [
    make("path", { class: "range", d: `M${x(bin.confidence)} ${y(clip(bin.accuracy - 2 * bin.standard_error))}V${y(clip(bin.accuracy + 2 * bin.standard_error))}` }),
    make("circle", { class: "bin", cx: x(bin.confidence), cy: y(bin.accuracy), r: 2 + 3 * Math.sqrt(bin.rows / most) })]);
  const drawing = make("svg", { class: "reliability", viewBox: "-6 -6 212 212", role: "img", "aria-label": "Reliability diagram" },
    make("path", { class: "frame", d: "M0 0H200V200H0Z" }), make("path", { class: "ideal", d: "M0 200L200 0" }), ...marks);
  const lines = found.bins.map((bin) => make("tr", {}, make("td", { "data-name": "said" }, percent(bin.confidence)),
    make("td", { "data-name": "right" }, `${percent(bin.accuracy)} ± ${percent(bin.standard_error)}`), make("td", { "data-name": "rows" }, count(bin.rows))));
  return make("article", { id: "reliability", tabindex: "-1", "aria-label": "Reliability" },
    make("p", {}, `Expected calibration error ${fixed(found.calibration_error, 3)} (standard error ${fixed(found.standard_error, 3)}). On ${many(found.rows, "row", "rows")} a perfectly calibrated model would show ${fixed(found.by_chance, 3)}.`),
    make("div", { class: "pair" }, drawing, make("table", {},
      make("thead", {}, make("tr", {}, ...["said", "right", "rows"].map((name) => make("th", { scope: "col" }, name)))), make("tbody", {}, ...lines))));
}

function drawEvidence() {
  const main = document.getElementById("evidence");
  const group = (...parts) => main.append(make("section", { class: "group" }, ...parts));
  if (tests.length) {
    group(titled("The tests", "For every test, the examples of this table that reach it and whose response is most certain, or least certain. The number below a picture is the probability of yes."), ...tests.map(testCard));
  }
  if (content.networks.length) {
    const networks = new Set(content.networks.map((network) => network.name)).size;
    const number = `The tree has ${many(networks, "network", "networks")}${content.instances.map((line) => `; ${line}`).join("")}.`;
    group(titled("What the networks predict", `${number} For every value of a network, the inputs for which it is the most probable value, most probable first. Unless a network was trained beforehand or with labels, its values have no given meaning; the pictures show what they stand for.`), ...content.networks.map(networkCard));
  }
  if (numbers && numbers.points.length) {
    group(titled("Predicted against true", "One point for each example: its true number from left to right, the predicted one from bottom to top. On the line both are equal."),
      make("article", {}, scatter(numbers.points)));
  }
  if (content.errors.length && numbers) {
    group(titled("Where the tree is wrong", "Examples whose numbers are farthest from their predictions, with their errors as fractions of the largest one. Choose one to see its numbers, and whether the tree was learned from it."),
      make("article", {}, tiles(content.errors, (share) => `its error is ${percent(share)} of the largest`, "Where the tree is wrong")));
  } else if (content.errors.length) {
    group(titled("Where the tree is wrong", "Examples for which the tree predicts another class, with the probability of their own class, smallest first. Choose one to see whether the tree was learned from it."),
      make("article", {}, tiles(content.errors, (share) => `its class gets ${percent(share)}`, "Where the tree is wrong")));
  }
  if (content.reliability) {
    group(titled("Whether its probabilities can be trusted", "How often predictions are right, on rows that the tree was not learned from where these are known. Across is the probability that it gave its prediction, upwards how often that was right. Dots on the diagonal are calibrated; the lines are two standard errors each way."), reliabilityCard(content.reliability));
  }
  const leaves = content.nodes.map((node, number) => number).filter((number) => !isTest(content.nodes[number]));
  group(titled("The leaves", "The ends of the paths, from all yes to all no."), make("div", { class: "leaves" }, ...leaves.map(leafCard)));
}

// A plot of predicted against true numbers, with the line on which both are equal.
function scatter(points) {
  const all = points.flatMap(([, predictedNumber, trueNumber]) => [predictedNumber, trueNumber]);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const place = (number) => 10 + (280 * (number - low)) / (high - low || 1);
  const name = `Predicted against true numbers of ${many(points.length, "example", "examples")}, from ${low.toPrecision(4)} to ${high.toPrecision(4)}`;
  const dots = points.map(([row, predictedNumber, trueNumber]) =>
    make("circle", { cx: place(trueNumber), cy: 300 - place(predictedNumber), r: 2.5, class: "point" }, make("title", {}, `Example ${row}`)));
  return make("svg", { class: "scatter", viewBox: "0 0 300 300", role: "img", "aria-label": name },
    make("path", { d: "M10 290L290 10", class: "diagonal" }), ...dots);
}

function drawTexts() {
  const leaves = content.nodes.length - tests.length;
  document.getElementById("lede").textContent =
    `A tree of ${many(tests.length, "test", "tests")} and ${many(leaves, "leaf", "leaves")}, shown on ${many(content.rows, "example", "examples")}.`;
  document.getElementById("scores").append(...content.scores.map((sentence, index) => make("span", { class: index ? "soft" : "first" }, sentence)));
  document.getElementById("foot").append(...[
    make("p", {}, `This page holds ${count(rows.length)} of the table's ${many(content.rows, "example", "examples")}: those in the tiles. Examples are counted from 0. The numbers of an example are rounded to 0.01%; how many examples reach a node, and how often a network predicts a value, is counted over the whole table.`),
    content.nodes[0].training ? make("p", {}, "“When grown” counts the training examples at the time when a node was made. Joint training of the tree after that can make its leaves more certain than the classes that are counted there.") : null,
    make("p", {}, `Made by neuid3 ${content.version}. The page is complete in itself and loads nothing from the internet.`),
  ].filter(Boolean));
}

// Arrow keys move from tile to tile, and up and down between strips.
function walkTiles(event) {
  const here = event.target.closest(".tile");
  if (!here) return;
  const list = here.parentElement;
  const siblings = [...list.children];
  const index = siblings.indexOf(here);
  let target = { ArrowRight: siblings[index + 1], ArrowLeft: siblings[index - 1], Home: siblings[0], End: siblings[siblings.length - 1] }[event.key];
  if (event.key === "ArrowUp" || event.key === "ArrowDown") {
    const strips = [...document.querySelectorAll(".tiles")];
    const next = strips[strips.indexOf(list) + (event.key === "ArrowDown" ? 1 : -1)];
    target = next && next.children[Math.min(index, next.children.length - 1)];
  }
  if (!target) return;
  moveFocus([...target.parentElement.children], target);
  event.preventDefault();
}

drawTexts();
drawTree();
drawEvidence();
choose(null);
document.getElementById("evidence").addEventListener("keydown", walkTiles);
document.addEventListener("keydown", (event) => event.key === "Escape" && chosen !== null && choose(null));
new ResizeObserver(() => layWires(flow(chosen))).observe(tree);
