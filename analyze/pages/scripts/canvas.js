"use strict";
// What lanes and figures are drawn on: a canvas as sharp as the screen or the paper, its frame, its grid.
page.canvas = (() => {
  const { colour, isPrinting } = page;
  const { si, ticks, tickTexts } = page.marks;
  const PAPER_WIDTH = 700;

  // A box is the part of a canvas within the axes: { left, right, top, bottom } in pixels.
  function prepare(canvas, width, height) {
    const ratio = isPrinting() ? 3 : Math.max(1, devicePixelRatio || 1);
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = isPrinting() ? "auto" : `${height}px`;
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.font = "11px system-ui, sans-serif";
    return pen;
  }

  function clipped(pen, box, draw) {
    pen.save();
    pen.beginPath();
    pen.rect(box.left, box.top, box.right - box.left, box.bottom - box.top);
    pen.clip();
    draw();
    pen.restore();
  }

  function frame(pen, box) {
    pen.strokeStyle = colour("--line");
    pen.lineWidth = 1;
    pen.strokeRect(box.left + 0.5, box.top + 0.5, box.right - box.left - 1, box.bottom - box.top - 1);
  }

  // Places of an axis and their texts: round numbers, or powers of ten with at least `apart` pixels between them.
  function marksOf({ low, high, log, unit, whole, names, prefixed = true }, pixels, apart) {
    const text = (value) => (prefixed ? si(value, unit) : si(value, ""));
    if (names) {
      const places = names.map((_, place) => place).filter((place) => place >= low && place <= high);
      return { places, texts: places.map((place) => names[place]) };
    }
    if (whole && !log) {
      const places = ticks(low, high, Math.max(2, Math.floor(pixels / apart))).filter(Number.isInteger);
      return { places, texts: places.map((place) => (place || 0).toLocaleString("en")) }; // never -0
    }
    if (!log) {
      const places = ticks(low, high, Math.max(2, Math.floor(pixels / apart)));
      return { places, texts: tickTexts(places, prefixed ? unit : "") };
    }
    const decades = Math.log10(high / low);
    if (decades < 1.2) {
      const places = ticks(low, high, Math.max(2, Math.floor(pixels / apart)));
      return { places, texts: tickTexts(places, prefixed ? unit : "") };
    }
    const step = Math.max(1, Math.ceil((decades * apart) / pixels));
    const places = [];
    for (let exponent = Math.ceil(Math.log10(low) - 1e-9); 10 ** exponent <= high * 1.01; exponent += step) places.push(10 ** exponent);
    return { places, texts: places.map(text) };
  }

  // Lines across a box, with their texts at the left; one that is too long is condensed.
  function rows(pen, box, { places, texts }, y) {
    pen.fillStyle = colour("--faint");
    pen.strokeStyle = colour("--grid");
    pen.lineWidth = 1;
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    pen.beginPath();
    places.forEach((value, index) => {
      const at = Math.round(y(value)) + 0.5;
      pen.moveTo(box.left, at);
      pen.lineTo(box.right, at);
      pen.fillText(texts[index], box.left - 6, Math.max(box.top + 7, Math.min(box.bottom - 6, at)), Math.max(box.left - 7, 1));
    });
    pen.stroke();
  }

  // Lines down a box, without texts: those stand under the last panel.
  function columns(pen, box, { places }, x) {
    pen.strokeStyle = colour("--grid");
    pen.lineWidth = 1;
    pen.beginPath();
    for (const value of places) {
      const at = Math.round(x(value)) + 0.5;
      pen.moveTo(at, box.top);
      pen.lineTo(at, box.bottom);
    }
    pen.stroke();
  }

  // The texts of a horizontal axis, kept within the canvas and apart from each other.
  function axisBelow(pen, box, width, { places, texts }, x, label) {
    pen.fillStyle = colour("--ink");
    pen.textAlign = "center";
    pen.textBaseline = "top";
    let free = -Infinity;
    places.forEach((value, index) => {
      const half = pen.measureText(texts[index]).width / 2;
      const at = Math.max(half + 1, Math.min(x(value), width - half - 1));
      if (at - half < free) return;
      pen.fillText(texts[index], at, box.bottom + 4);
      free = at + half + 6;
    });
    pen.fillStyle = colour("--faint");
    pen.fillText(label, (box.left + box.right) / 2, box.bottom + 19);
  }

  return { PAPER_WIDTH, prepare, clipped, frame, marksOf, rows, columns, axisBelow };
})();
