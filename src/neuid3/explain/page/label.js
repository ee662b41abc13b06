"use strict";
// Draws the images to label from the JSON beside it. Names come from the data, so they are inserted only as text, never as HTML.

const content = JSON.parse(document.getElementById("content").textContent);
const form = document.getElementById("images");
const element = (id) => document.getElementById(id);
const UNKNOWN = "unknown"; // the choice "cannot tell"; values are chosen by their number
let isSaved = true;

function make(tag, attributes = {}, ...children) {
  const drawing = ["svg", "polyline"].includes(tag);
  const made = drawing ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const many = (number, one, more) => `${number.toLocaleString("en")} ${number === 1 ? one : more}`;

// Images --------------------------------------------------------------------------------------------------

function picture(input, row) {
  const name = `${input.column} of row ${row}`;
  if (input.text !== null) return make("span", { class: "entry" }, input.text);
  const drawn = content.pictures[input.picture];
  if (typeof drawn === "string") {
    const image = make("img", { class: "picture", alt: name, src: `data:image/png;base64,${drawn}`, draggable: "false" });
    image.addEventListener("load", () => image.classList.toggle("small", image.naturalWidth <= 80));
    return image;
  }
  const step = 100 / Math.max(1, drawn.length - 1);
  const points = drawn.map((height, index) => `${(index * step).toFixed(1)},${100 - height}`).join(" ");
  return make("svg", { class: "picture line", viewBox: "-4 -4 108 108", preserveAspectRatio: "none", role: "img", "aria-label": name },
    make("polyline", { points, "vector-effect": "non-scaling-stroke" }));
}

function question(item) {
  const several = item.inputs.length > 1;
  const isImage = item.inputs.every((input) => input.text === null);
  const what = several ? (isImage ? "these images" : "these inputs") : isImage ? "this image" : "this number";
  return item.fact ? `Does ${item.predicate} hold for ${what}?` : `Which value of ${item.predicate} ${several ? "do" : "does"} ${what} show?`;
}

function choice(number, value, text, kind = null) {
  const input = make("input", { type: "radio", name: `value-${number}`, value });
  return make("label", { class: kind }, input, text);
}

function card(item, number) {
  const place = `Image ${number + 1} of ${content.items.length}, row ${item.row}`;
  const choices = item.values.map((value, index) => choice(number, String(index), value));
  return make("fieldset", { id: `image-${number}`, class: item.inputs.length > 2 ? "wide" : null },
    make("legend", {}, make("code", {}, item.concept), make("span", { class: "place" }, place)),
    make("div", { class: "pictures" }, ...item.inputs.map((input) =>
      make("figure", {}, picture(input, item.row), make("figcaption", {}, (input.text === null && input.file) || input.column)))),
    make("div", { class: "answer" },
      make("p", { class: "question" }, question(item)),
      make("div", { class: "values" },
        ...(item.fact ? choices.toReversed() : choices),
        choice(number, UNKNOWN, "cannot tell", "unknown")),
      make("p", { class: "reason" }, `Why this one: ${item.reason}.`),
      make("details", {}, make("summary", {}, "What the network says"), make("p", {}, `${item.predicted}, with a probability of ${item.probability}.`))));
}

// Labels --------------------------------------------------------------------------------------------------

const chosen = (number) => form.elements[`value-${number}`].value;

function labels() {
  return content.items.flatMap((item, number) => {
    const value = chosen(number);
    return value === "" || value === UNKNOWN ? [] : [[item.image, item.name, item.values[Number(value)], item.row]];
  });
}

const cell = (text) => (/[",\r\n]|^\s|\s$/.test(text) ? `"${String(text).replaceAll('"', '""')}"` : String(text));
const csv = (rows) => [content.header, ...rows].map((row) => row.map(cell).join(",") + "\n").join("");

function say(text, isProblem = false) {
  element("message").textContent = text;
  element("message").classList.toggle("problem", isProblem);
}

function update() {
  const total = content.items.length;
  const answered = content.items.filter((_, number) => chosen(number) !== "").length;
  const number = labels().length;
  content.items.forEach((_, index) => element(`image-${index}`).classList.toggle("done", chosen(index) !== ""));
  element("progress").max = total;
  element("progress").value = answered;
  element("count").textContent = `${answered} of ${total} answered, ${many(number, "label", "labels")}`;
  element("download").setAttribute("aria-disabled", String(number === 0));
}

function download() {
  const rows = labels();
  if (!rows.length) {
    say("Choose a value for at least one image first.", true);
    return;
  }
  const address = URL.createObjectURL(new Blob([csv(rows)], { type: "text/csv" }));
  const link = make("a", { href: address, download: content.file });
  link.click();
  URL.revokeObjectURL(address);
  isSaved = true;
  say(`${many(rows.length, "label is", "labels are")} in ${content.file}, among your downloads. Learn again with: neuid3 fit … --concepts ${content.file}`);
}

form.append(...content.items.map(card));
form.addEventListener("change", () => {
  isSaved = labels().length === 0;
  say("");
  update();
});
form.addEventListener("submit", (event) => event.preventDefault());
element("download").addEventListener("click", download);
window.addEventListener("beforeunload", (event) => { if (!isSaved) event.preventDefault(); });
element("notes").textContent = content.notes.join(" ");
element("lede").textContent = content.items.length
  ? "Choose what each image shows, and download the labels. The next fit takes them, so that the values of the networks mean what they are called."
  : "There is nothing to label.";
element("bar").hidden = content.items.length === 0;
if (content.items.length) update();
