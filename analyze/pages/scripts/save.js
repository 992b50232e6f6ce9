"use strict";
// A chart as it is shown, as a file: PNG of its canvases with their names, CSV of its points.
page.save = (() => {
  const { make, colour } = page;
  const TEXTS = ".title, .panel-head b, .panel-head .note, .lane-head b, button.key[aria-pressed=true]";

  function download(name, blob) {
    const link = make("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
  }

  // RFC 4180; a name that a spreadsheet would take for a formula is text.
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    const safe = typeof value === "string" && /^[=+\-@]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const csv = (head, rows) => [head, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";

  // A node with canvases as one canvas: each of them, and the texts that name them and their series, where they stand.
  function picture(node) {
    const { left, top, width } = node.getBoundingClientRect();
    const placed = (selector) => [...node.querySelectorAll(selector)]
      .map((one) => ({ one, box: one.getBoundingClientRect() })).filter(({ box }) => box.width > 0);
    const canvases = placed("canvas");
    const ratio = Math.max(1, devicePixelRatio || 1);
    const whole = make("canvas");
    whole.width = Math.ceil(width * ratio);
    whole.height = Math.ceil((Math.max(...canvases.map(({ box }) => box.bottom)) - top) * ratio);
    const pen = whole.getContext("2d");
    pen.scale(ratio, ratio);
    pen.fillStyle = colour("--ground");
    pen.fillRect(0, 0, whole.width, whole.height);
    for (const { one, box } of canvases) pen.drawImage(one, box.left - left, box.top - top, box.width, box.height);
    pen.textBaseline = "middle";
    for (const { one, box } of placed(TEXTS)) {
      const swatch = one.querySelector(".swatch"), style = getComputedStyle(one);
      const from = swatch ? swatch.getBoundingClientRect().right + 4 : box.left;
      pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
      pen.fillStyle = style.color;
      pen.fillText(one.textContent, from - left, (box.top + box.bottom) / 2 - top, box.right - from);
      if (swatch) sample(pen, swatch, swatch.getBoundingClientRect().left - left, (box.top + box.bottom) / 2 - top);
    }
    return whole;
  }

  // The mark of a series, as its points or its line are drawn.
  function sample(pen, swatch, x, y) {
    const look = { colour: swatch.style.getPropertyValue("--swatch"), size: 4, outline: colour("--ink"), dashed: [1, 2, 3, 4].find((one) => swatch.classList.contains(`dashed-${one}`)) };
    const symbol = ["cross", "up", "down", "ring", "circle"].find((one) => swatch.classList.contains(one));
    const place = { x: (value) => value, y: (value) => value };
    if (swatch.classList.contains("line")) page.marks.line(pen, [x, x + 15], [y, y], place, look);
    else page.marks.points(pen, [x + 4], [y], 0, 1, place, { ...look, symbol: symbol === undefined ? "dot" : symbol === "circle" ? "disc" : symbol }, 8);
  }

  // What `node` shows when it is asked for: `rows` gives its points, below `head`.
  function buttons(name, node, head, rows) {
    const both = make("span", undefined, "save");
    const acts = {
      PNG: () => picture(node).toBlob((blob) => download(`${name}.png`, blob)),
      CSV: () => download(`${name}.csv`, new Blob([csv(head, rows())], { type: "text/csv" })),
    };
    for (const [kind, act] of Object.entries(acts)) {
      const button = make("button", kind, "plain");
      button.type = "button";
      button.title = `save this chart as ${kind}`;
      button.addEventListener("click", act);
      both.append(button, " ");
    }
    return both;
  }

  return { buttons, csv, picture };
})();
