"use strict";
// What the pages of all reports share: their data, nodes that hold text and never markup, and colours for light and dark.
const page = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const element = (id) => document.getElementById(id);
  const make = (tag, text, className) => {
    const node = document.createElement(tag);
    if (text !== undefined) node.textContent = text;
    if (className) node.className = className;
    return node;
  };
  // plotly reads a few tags (<b>, <a>, ...) in the texts it draws.
  const plotText = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  // A blue that is clear on white is too dark on black.
  const themed = (look) => (dark.matches && look.color === "#0072B2" ? { ...look, color: "#56B4E9" } : look);

  return { data, element, make, plotText, dark, colour, themed };
})();
