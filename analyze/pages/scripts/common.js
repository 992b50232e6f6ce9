"use strict";
// What the pages of all reports share: their data, nodes that hold text and never markup, light, dark and print.
const page = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const element = (id) => document.getElementById(id);
  const make = (tag, text, className) => {
    const node = document.createElement(tag);
    if (text !== undefined) node.textContent = text;
    if (className) node.className = className;
    return node;
  };

  // Light or dark as the system has it until somebody chooses; paper is always light.
  const system = matchMedia("(prefers-color-scheme: dark)");
  const paper = matchMedia("print");
  let chosen = null;
  let printing = false;
  const drawers = [];
  const isPrinting = () => printing || paper.matches;
  const isDark = () => !isPrinting() && (chosen ?? (system.matches ? "dark" : "light")) === "dark";
  function retheme() {
    root.dataset.theme = isDark() ? "dark" : "light";
    drawers.forEach((draw) => draw());
  }
  root.dataset.theme = isDark() ? "dark" : "light";
  system.addEventListener("change", retheme);
  paper.addEventListener("change", retheme);
  addEventListener("beforeprint", () => { printing = true; retheme(); });
  addEventListener("afterprint", () => { printing = false; retheme(); });
  element("theme").addEventListener("click", () => { chosen = isDark() ? "light" : "dark"; retheme(); });

  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  // What is clear on white may be too dark on black. What one colour becomes must be no other one's.
  const BRIGHTER = { "#0072B2": "#56B4E9", "#56B4E9": "#C9E9FB", "#555555": "#A8B0B8", "#B8860B": "#E0B040", "#D55E00": "#FF8A3D", "#009E73": "#2FCB9C" };
  const shade = (named) => (isDark() ? BRIGHTER[named] ?? named : named);

  // What is coloured by markup (marks of rows, bars) takes the same shades as what is drawn.
  function tint() {
    for (const node of document.querySelectorAll("i[data-colour]")) node.style.backgroundColor = shade(node.dataset.colour);
    for (const node of document.querySelectorAll("svg [data-colour]")) node.style.color = shade(node.dataset.colour);
  }
  drawers.push(tint);
  tint();

  async function copy(text, button) {
    const before = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "copied";
    } catch {
      button.textContent = "select and copy it"; // a browser may keep the clipboard from pages that are files
    }
    setTimeout(() => { button.textContent = before; }, 1500);
  }
  // A display filter, or a command, with a button that copies it.
  function filterNode(text, title = "copy filter") {
    const node = make("span", undefined, "filter");
    const button = make("button", title, "plain");
    button.addEventListener("click", () => copy(text, button));
    node.append(make("code", text), " ", button);
    return node;
  }

  return { data, element, make, isDark, isPrinting, onTheme: (draw) => drawers.push(draw), colour, shade, filterNode };
})();
