"use strict";
// Draws the page from the facts beside it. Names come from the data, so they only ever become text, never HTML.

const facts = JSON.parse(document.getElementById("facts").textContent);
const examples = new Map(facts.examples.map((example) => [example.row, example]));
const rows = facts.examples.map((example) => example.row);
const isTest = (node) => node.test !== undefined;
let chosen = null;

// Words ------------------------------------------------------------------------------------------

const count = (number) => Math.round(number).toLocaleString("en");
const many = (number, one, more) => `${count(number)} ${Math.round(number) === 1 ? one : more}`;

// As Python writes numbers: exactly halfway between two texts, the even one.
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

function letters(place) {
  const rest = Math.floor(place / 26);
  return (rest ? letters(rest - 1) : "") + String.fromCharCode(65 + (place % 26));
}

// Building blocks ----------------------------------------------------------------------------------

function make(tag, attributes = {}, ...children) {
  const drawing = ["svg", "path", "polyline"].includes(tag);
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
  return make("div", { class: "bar", "aria-hidden": "true" }, ...shares.map((share, place) => {
    const part = make("span", { class: `c${place % 8}` });
    part.style.width = `${(100 * share) / total}%`;
    return part;
  }));
}

// The shares of a few classes in their order; of many, the largest.
function inWords(shares, most = 4) {
  const total = shares.reduce((sum, share) => sum + share, 0) || 1;
  const ranked = shares.map((share, place) => [share / total, place]);
  if (ranked.length > most) ranked.sort((a, b) => b[0] - a[0]);
  const parts = ranked.slice(0, most).map(([share, place]) =>
    make("span", {}, make("span", { class: `key c${place % 8}`, "aria-hidden": "true" }), `${facts.classes[place]} ${percent(share)}`));
  const rest = most > 1 && ranked.length > most ? [make("span", {}, `${ranked.length - most} more`)] : [];
  return make("span", { class: "shares-in-words" }, ...parts, ...rest);
}

// Pictures and tiles -------------------------------------------------------------------------------

function picture(example, column) {
  const name = `${column} of example ${example.row}`;
  const drawn = facts.pictures[example.pictures[column]];
  if (drawn === null) return make("span", { class: "picture missing", role: "img", "aria-label": `${name}, missing` }, "missing");
  if (typeof drawn === "string") {
    const image = make("img", { class: "picture", alt: name, src: `data:image/png;base64,${drawn}`, draggable: "false" });
    image.addEventListener("load", () => image.classList.toggle("small", image.naturalWidth <= 32));
    return image;
  }
  const step = 100 / Math.max(1, drawn.length - 1);
  const points = drawn.map((height, place) => `${(place * step).toFixed(1)},${100 - height}`).join(" ");
  return make("svg", { class: "picture line", viewBox: "-4 -4 108 108", preserveAspectRatio: "none", role: "img", "aria-label": name },
    make("polyline", { points, "vector-effect": "non-scaling-stroke" }));
}

const hasPicture = (example, column) => example.pictures[column] !== undefined;

function tile([row, probability, columns], meaning, labelled = true) {
  const example = examples.get(row);
  const label = example.label === null || !labelled ? "" : facts.classes[example.label];
  const told = columns.filter((column) => column in example.values).map((column) => `${column}: ${example.values[column]}`);
  const drawn = columns.filter((column) => hasPicture(example, column));
  const spoken = [`Example ${row}`, meaning(probability), label && `labelled ${label}`, ...told].filter(Boolean).join(", ");
  const button = make("button", { type: "button", class: "tile", "data-row": row, "aria-pressed": "false", "aria-label": spoken, tabindex: "-1" },
    drawn.length ? make("span", { class: "pictures" }, ...drawn.map((column) => picture(example, column))) : null,
    told.length ? make("span", { class: "words" }, ...told.flatMap((line, place) => (place ? [make("br"), line] : [line]))) : null,
    make("strong", { class: "caption" }, percent(probability)),
    label ? make("span", { class: "caption" }, label) : null);
  button.addEventListener("click", () => choose(chosen === row ? null : row));
  return button;
}

// What a network sees in an example has nothing to do with its class.
const look = (shown, meaning) => tile(shown, meaning, false);

// Where there is nothing to look at, the number of an example will do.
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

// The way to a node --------------------------------------------------------------------------------

const parents = new Map();
facts.nodes.forEach((node, number) => {
  if (isTest(node)) [[node.yes, true], [node.no, false]].forEach(([child, answer]) => parents.set(child, { number, answer }));
});
const tests = facts.nodes.map((node, number) => number).filter((number) => isTest(facts.nodes[number]));
const names = new Map();
facts.nodes.forEach((node, number) => {
  const leaves = facts.nodes.slice(0, number).filter((other) => !isTest(other)).length;
  names.set(number, isTest(node) ? String(tests.indexOf(number) + 1) : letters(leaves));
});

function wayTo(number) {
  const way = [];
  for (let step = parents.get(number); step; step = parents.get(step.number)) way.unshift(step);
  return way;
}

// How probable every node is: for the chosen example, or else for all examples of the table.
function flow(row) {
  const total = facts.nodes[0].mass || 1;
  if (row === null) return facts.nodes.map((node) => node.mass / total);
  const reached = [1];
  tests.forEach((number, place) => {
    const answer = examples.get(row).answers[place];
    reached[facts.nodes[number].yes] = answer === null ? 0 : reached[number] * answer;
    reached[facts.nodes[number].no] = answer === null ? 0 : reached[number] * (1 - answer);
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
  facts.nodes.forEach((node, number) => {
    const step = parents.get(number);
    const depth = wayTo(number).length;
    const said = make("span", { class: "answer" }, step ? (step.answer ? "yes" : "no") : "");
    const what = isTest(node)
      ? make("span", { class: "what" }, code(node.test), ...networkMark(node))
      : make("span", { class: "what" }, inWords(node.probabilities, 1), bar(node.probabilities));
    const item = make("div", { class: "node", role: "treeitem", id: `tree-${number}`, "aria-level": depth + 1, tabindex: number ? "-1" : "0" },
      make("span", { class: isTest(node) ? "badge" : "badge leaf" }, names.get(number)), said, what, make("span", { class: "number" }));
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
  const node = facts.nodes[number];
  const next = {
    ArrowUp: number - 1,
    ArrowDown: number + 1,
    ArrowLeft: parents.get(number)?.number,
    ArrowRight: node.yes,
    Home: 0,
    End: facts.nodes.length - 1,
  }[event.key];
  if (event.key === "Enter" || event.key === " ") visit(number);
  else if (next === undefined || !facts.nodes[next]) return;
  else moveFocus(tree.querySelectorAll(".node"), document.getElementById(`tree-${next}`));
  event.preventDefault();
}

// Of several elements one can be reached by Tab: the one that had the focus last.
function moveFocus(all, target) {
  all.forEach((element) => (element.tabIndex = element === target ? 0 : -1));
  target.focus();
}

function showFlow() {
  const reached = flow(chosen);
  facts.nodes.forEach((node, number) => {
    const item = document.getElementById(`tree-${number}`);
    item.querySelector(".number").textContent = percent(reached[number]);
    item.classList.toggle("away", reached[number] < 0.0005);
    const doubt = isTest(node) && node.statistics && node.statistics.nearChance ? ", close to chance" : "";
    const what = isTest(node) ? `Test ${names.get(number)}, ${node.test}${doubt}` : `Leaf ${names.get(number)}, ${inWords(node.probabilities, 1).textContent}`;
    const step = parents.get(number);
    const side = step ? `, the ${step.answer ? "yes" : "no"} side of test ${names.get(step.number)}` : "";
    const who = chosen === null ? "of the examples get here" : `is the probability that example ${chosen} gets here`;
    item.setAttribute("aria-label", `${what}${side}; ${percent(reached[number])} ${who}`);
  });
  layWires(reached);
}

// Two wires leave a test: "no" on the left runs on down, "yes" beside it turns off first.
function layWires(reached) {
  const at = (number) => document.getElementById(`tree-${number}`);
  tests.forEach((number) => {
    const { yes, no } = facts.nodes[number];
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
  showMine();
}

function chooser() {
  const box = make("input", { id: "number", inputmode: "numeric", list: "rows", autocomplete: "off", value: chosen ?? "" });
  const problem = make("span", { class: "problem", role: "alert" });
  const pick = () => {
    const wanted = Number(box.value);
    if (box.value.trim() === "") return;
    if (examples.has(wanted)) return choose(wanted), document.getElementById("number").focus();
    const near = rows.reduce((best, row) => (Math.abs(row - wanted) < Math.abs(best - wanted) ? row : best), rows[0]);
    problem.textContent = `Example ${box.value.trim()} is not in this page, which holds ${count(rows.length)} of ${count(facts.rows)}; the nearest is ${near}.`;
  };
  box.addEventListener("change", pick);
  box.addEventListener("keydown", (event) => event.key === "Enter" && pick());
  const step = (by) => {
    const place = chosen === null ? (by > 0 ? 0 : rows.length - 1) : (rows.indexOf(chosen) + by + rows.length) % rows.length;
    choose(rows[place]);
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
  const figures = facts.columns.filter((column) => hasPicture(example, column) || column in example.values).map((column) =>
    hasPicture(example, column)
      ? make("figure", {}, picture(example, column), make("figcaption", {}, column))
      : make("figure", { class: "words" }, make("strong", {}, example.values[column]), make("figcaption", {}, column)));
  return make("div", { class: "portrait" }, ...figures);
}

function classList(example) {
  const list = make("div", { class: "classes" });
  example.classes.map((share, place) => [share, place]).sort((a, b) => b[0] - a[0]).slice(0, 8).forEach(([share, place]) => {
    const fill = make("span", { class: `c${place % 8}` });
    fill.style.width = `${100 * share}%`;
    const truth = example.label === place ? " (its label)" : "";
    list.append(make("span", {}, facts.classes[place] + truth), make("div", { class: "bar", "aria-hidden": "true" }, fill), make("span", { class: "number" }, percent(share)));
  });
  return list;
}

function best(example) {
  return example.classes.indexOf(Math.max(...example.classes));
}

function showExample() {
  const example = examples.get(chosen);
  panel.replaceChildren(make("h2", {}, example ? `Example ${chosen}` : "All examples"));
  const origin = example && example.learned !== null ? (example.learned ? "The tree was learned from this example." : "The tree was not learned from this example.") : null;
  if (example) panel.append(portrait(example), classList(example), ...(origin ? [make("p", { class: "soft" }, origin)] : []));
  else panel.append(make("p", { class: "soft" }, "Choose one of the tiles, or a number, to follow that example through the tree. Escape lets go."));
  if (rows.length) panel.append(chooser());
  document.getElementById("flow").textContent = example
    ? `Lines are as wide as the probability that example ${chosen} goes that way.`
    : "Lines are as wide as the share of the examples that goes that way.";
  document.getElementById("status").textContent = example ? `Example ${chosen}: ${facts.classes[best(example)]} ${percent(example.classes[best(example)])}` : "All examples";
  dock.hidden = !example;
  dock.replaceChildren();
  if (!example) return;
  const show = make("button", { type: "button" }, "Show");
  show.addEventListener("click", () => panel.scrollIntoView({ block: "start" }));
  const clear = make("button", { type: "button", "aria-label": "Clear the choice" }, "✕");
  clear.addEventListener("click", () => choose(null));
  dock.append(make("p", {}, `Example ${chosen}: `, make("strong", {}, `${facts.classes[best(example)]} ${percent(example.classes[best(example)])}`)), show, clear);
}

// In every test's own words, what happens to the chosen example there.
function showMine() {
  const reached = flow(chosen);
  tests.forEach((number, place) => {
    const line = document.getElementById(`mine-${number}`);
    line.hidden = chosen === null;
    if (chosen === null) return;
    const answer = examples.get(chosen).answers[place];
    line.textContent = answer === null || reached[number] < 0.00005
      ? `Example ${chosen} does not get here.`
      : `Example ${chosen} gets here with ${percent(reached[number])}, and then the answer is yes with ${percent(answer)}.`;
  });
  facts.networks.forEach((network, number) => {
    const line = document.getElementById(`called-${number}`);
    line.hidden = chosen === null;
    if (chosen === null) return;
    const called = examples.get(chosen).calls[number]
      .map((value, use) => (value === null ? null : `${network.reads[use].join(" with ")} is called ${network.values[value].name}`))
      .filter(Boolean);
    line.textContent = `Example ${chosen}: ${called.join(", ") || "the network was not asked"}.`;
  });
}

// The evidence -------------------------------------------------------------------------------------

function shareRows(node) {
  const kinds = [["when grown", node.training], ["in this table", node.shares]].filter(([, masses]) => masses && masses.some((mass) => mass > 0));
  if (!kinds.length) return null;
  return make("section", {}, make("h4", {}, "Classes that get here"),
    make("div", { class: "shares" }, ...kinds.flatMap(([name, masses]) => [make("span", {}, name), bar(masses), make("span", { class: "words" }, inWords(masses))])));
}

function told(node) {
  const list = make("dl", { class: "told" });
  const add = (name, value, more) => list.append(make("div", {}, make("dt", {}, name), make("dd", {}, value, more ? make("span", {}, ` ${more}`) : null)));
  const sum = (masses) => masses.reduce((total, mass) => total + mass, 0);
  if (node.gain !== null && node.gain !== undefined) add("Gain", `${fixed(node.gain, 2)} bits`);
  const known = node.statistics;
  if (known && known.decided !== null) add("Decided", fixed(known.decided, 2), "(0 chance, 1 certain)");
  if (known && known.unseen !== null) add("Gain on unseen", `${fixed(known.unseen, 2)} bits`, `of ${many(known.unseenMass, "example", "examples")}`);
  if (known && known.trained !== null) add("Gain on training", `${fixed(known.trained, 2)} bits`);
  const root = facts.nodes[0];
  if (node.training && root.training) add("Reach when grown", node.trainingMass, `of ${root.trainingMass} (${percent(sum(node.training) / (sum(root.training) || 1))})`);
  add("Reach in this table", count(node.mass), `of ${count(facts.rows)} (${percent(node.mass / facts.rows)})`);
  return list;
}

function pathWords(number) {
  const way = wayTo(number);
  if (!way.length) return make("p", {}, "Asked first, of every example.");
  const parts = way.flatMap((step, place) => [place ? ", " : "", code(facts.nodes[step.number].test), step.answer ? " is true" : " is false"]);
  return make("p", {}, "Asked when ", ...parts, ".");
}

function rules(node) {
  if (!node.rules.length) return null;
  const links = node.networks.flatMap((name, place) => [place ? ", " : " Looks through ", make("a", { href: `#network-${networkNumber(name)}` }, name)]);
  return make("section", {}, make("h4", {}, "The rules behind it"),
    make("pre", { class: "rules" }, ...node.rules.map((rule) => make("span", {}, rule))),
    links.length ? make("p", { class: "soft" }, ...links, ".") : null);
}

const networkNumber = (name) => facts.networks.findIndex((network) => network.name === name);

// A symbolic test needs no pictures: what its columns are on either side, and some examples by their number.
function sides(node, meaning) {
  const labelled = facts.nodes[0].shares !== null;
  const cell = (name, ...content) => make("td", { "data-name": name }, ...content);
  const row = (side, place) => make("tr", {},
    make("th", { scope: "row" }, place ? "✗ no" : "✓ yes"),
    cell("examples", count(side.mass)),
    labelled ? cell("classes", side.mass > 0 ? inWords(side.shares) : "none") : null,
    ...side.values.map((value, column) => cell(node.columns[column], value)),
    cell("some of them", tiles(node.strips[place ? 2 : 0], meaning, place ? "Most surely false" : "Most surely true", chip)));
  const head = ["answer", "examples", ...(labelled ? ["classes"] : []), ...node.columns, "some of them"];
  return make("table", {},
    make("thead", {}, make("tr", {}, ...head.map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", {}, ...node.sides.map(row)));
}

function strips(node, meaning) {
  const [sure, unsure, not] = node.strips;
  return make("div", { class: "strips" },
    strip("✓", "Most surely true", sure, meaning, "None: no example that gets here is likely to be a yes."),
    strip("?", "Most undecided", unsure, meaning, "None: every answer is surer than 95%."),
    strip("✗", "Most surely false", not, meaning, "None: no example that gets here is likely to be a no."));
}

// A plain warning where a tree looks surer than its networks are.
function warning(node) {
  if (!node.statistics || !node.statistics.nearChance) return null;
  return make("p", { class: "warning" }, make("strong", {}, "(!) Close to chance. "),
    "Its networks are hardly decided between their values, or the test tells far less about unseen examples than about those that its networks were trained on. Do not read much into what is below it.");
}

function testCard(number) {
  const node = facts.nodes[number];
  const meaning = (probability) => `yes with ${percent(probability)}`;
  const undecided = node.sides && node.strips[1].length ? strip("?", "Most undecided", node.strips[1], meaning) : null;
  return make("article", { id: `node-${number}`, tabindex: "-1", "aria-label": `Test ${names.get(number)}: ${node.test}` },
    make("header", {}, make("span", { class: "badge" }, names.get(number)), make("h3", {}, code(node.test)), pathWords(number)),
    make("p", { class: "mine", id: `mine-${number}`, hidden: true }),
    warning(node),
    told(node),
    make("div", { class: "pair" }, rules(node), shareRows(node)),
    node.sides ? sides(node, meaning) : strips(node, meaning),
    undecided);
}

function leafCard(number) {
  const node = facts.nodes[number];
  const way = wayTo(number).flatMap((step, place) => [place ? ", " : "", code(facts.nodes[step.number].test), step.answer ? " is true" : " is false"]);
  return make("article", { id: `node-${number}`, tabindex: "-1", "aria-label": `Leaf ${names.get(number)}` },
    make("header", {}, make("span", { class: "badge leaf" }, names.get(number)), make("h3", {}, inWords(node.probabilities)),
      way.length ? make("p", {}, "When ", ...way, ".") : make("p", {}, "The only leaf.")),
    told(node), shareRows(node));
}

function networkCard(network, number) {
  const reads = network.reads.map((columns) => columns.join(" with ")).join(", or ");
  const askers = network.askedBy.flatMap((asker, place) => [place ? ", " : "", make("a", { href: `#node-${asker}` }, names.get(asker))]);
  const values = network.values.map((value) => make("div", { class: "value" },
    make("div", { class: "head" }, make("div", { class: "name" }, value.name),
      make("div", { class: "often" }, value.count ? `${many(value.count, "time", "times")} of ${count(network.looks)}, ${percent(value.sureness)} sure on average` : "never")),
    value.count ? tiles(value.shown, (sureness) => `${value.name}, ${percent(sureness)} sure`, `Called ${value.name} by ${network.name}`, look) : make("p", { class: "soft" }, "No picture of this table is called so.")));
  return make("article", { id: `network-${number}`, tabindex: "-1", "aria-label": `Network ${network.name}` },
    make("div", { class: "title" }, make("h3", {}, code(network.name), " says ", code(network.predicate)),
      make("p", {}, `It reads ${reads}, for test `, ...askers, ".")),
    make("p", { class: "mine", id: `called-${number}`, hidden: true }),
    make("div", { class: "values" }, ...values));
}

function drawEvidence() {
  const main = document.getElementById("evidence");
  const group = (...parts) => main.append(make("section", { class: "group" }, ...parts));
  if (tests.length) {
    group(titled("The tests", "For every test, the examples of this table that get to it and that it is surest of, or least sure of. The number below a picture is the probability of a yes."), ...tests.map(testCard));
  }
  if (facts.networks.length) {
    group(titled("What the networks see", "For every value that a network can name, what it calls so, surest first. Unless a network came trained, nobody told it what its values mean; the pictures do."), ...facts.networks.map(networkCard));
  }
  if (facts.surprises.length) {
    group(titled("Where the tree is wrong", "Examples that the tree takes for another class, with the probability that it gives to their own, worst first. Choose one to see whether the tree was learned from it."),
      make("article", {}, tiles(facts.surprises, (share) => `its class gets ${percent(share)}`, "Where the tree is wrong")));
  }
  const leaves = facts.nodes.map((node, number) => number).filter((number) => !isTest(facts.nodes[number]));
  group(titled("The leaves", "Where the ways end, from all yes to all no."), make("div", { class: "leaves" }, ...leaves.map(leafCard)));
}

function drawWords() {
  const leaves = facts.nodes.length - tests.length;
  document.getElementById("lede").textContent =
    `A tree of ${many(tests.length, "test", "tests")} and ${many(leaves, "leaf", "leaves")}, shown on ${many(facts.rows, "example", "examples")}.`;
  document.getElementById("scores").append(...facts.scores.map((sentence, place) => make("span", { class: place ? "soft" : "first" }, sentence)));
  document.getElementById("foot").append(...[
    make("p", {}, `This page holds ${count(rows.length)} of the table's ${many(facts.rows, "example", "examples")}: those in the tiles. Examples are counted from 0. What is told of an example is rounded to 0.01%; how many get to a node, and how often a network names a value, is counted over the whole table.`),
    facts.nodes[0].training ? make("p", {}, "“When grown” counts the training examples at the moment when a node was made. After that the whole tree may have been trained once more, so its leaves can be surer than the classes that are counted there.") : null,
    make("p", {}, `Made by neuid3 ${facts.version}. The page is complete in itself and asks no other machine for anything.`),
  ].filter(Boolean));
}

// Arrow keys move from tile to tile, and up and down between strips.
function walkTiles(event) {
  const here = event.target.closest(".tile");
  if (!here) return;
  const list = here.parentElement;
  const mine = [...list.children];
  const place = mine.indexOf(here);
  let target = { ArrowRight: mine[place + 1], ArrowLeft: mine[place - 1], Home: mine[0], End: mine[mine.length - 1] }[event.key];
  if (event.key === "ArrowUp" || event.key === "ArrowDown") {
    const strips = [...document.querySelectorAll(".tiles")];
    const next = strips[strips.indexOf(list) + (event.key === "ArrowDown" ? 1 : -1)];
    target = next && next.children[Math.min(place, next.children.length - 1)];
  }
  if (!target) return;
  moveFocus([...target.parentElement.children], target);
  event.preventDefault();
}

drawWords();
drawTree();
drawEvidence();
choose(null);
document.getElementById("evidence").addEventListener("keydown", walkTiles);
document.addEventListener("keydown", (event) => event.key === "Escape" && chosen !== null && choose(null));
new ResizeObserver(() => layWires(flow(chosen))).observe(tree);
