"use strict";
// How marks are drawn on a canvas: hatches, ticks, numbers, points, lines. Nothing here knows what is drawn.
page.marks = (() => {
  const PREFIXES = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]];
  const digits = (value) => String(Number(value.toPrecision(4)));

  // 1234567, "B" -> "1.235 MB"; bytes and shares have no small prefixes.
  function si(value, unit) {
    if (value === null || Number.isNaN(value)) return "-";
    const least = unit === "s" ? 1e-9 : 1;
    if (value === 0) return `0 ${unit}`.trim();
    const size = Math.abs(value) * 1.00005;
    if (unit === "%" || unit === "") return `${digits(value)} ${unit}`.trim();
    const [factor, prefix] = PREFIXES.find(([one]) => size >= one && one >= least) ?? [least, least === 1e-9 ? "n" : ""];
    if (unit === "s" && value >= 1000) return `${digits(value)} s`;
    return `${digits(value / factor)} ${prefix}${unit}`;
  }

  // Round places between two numbers, about `wanted` of them.
  function ticks(from, to, wanted) {
    const rough = (to - from) / Math.max(wanted, 1);
    if (!(rough > 0)) return [];
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough * 0.999);
    const found = [];
    for (let index = Math.ceil(from / step - 1e-9); index * step <= to * (1 + 1e-12) && found.length < 50; index++) found.push(index * step);
    return found;
  }

  // Texts of places on one axis: one prefix for all, and as many digits as tell neighbours apart.
  function tickTexts(places, unit) {
    if (!places.length) return [];
    const most = Math.max(...places.map(Math.abs));
    const step = places.length > 1 ? places[1] - places[0] : most || 1;
    const scaled = unit !== "%" && unit !== "";
    const least = unit === "s" ? 1e-9 : 1;
    const [factor, prefix] = !scaled || most === 0 || (unit === "s" && most >= 1) ? [1, ""] : PREFIXES.find(([one]) => most >= one * 0.9999 && one >= least) ?? [1, ""];
    const decimals = Math.min(9, Math.max(0, -Math.floor(Math.log10(step / factor) + 1e-9)));
    return places.map((place) => (place === 0 ? "0" : (place / factor).toFixed(decimals)) + ` ${prefix}${unit}`.trimEnd());
  }

  // How bright a colour is, from 0 to 255: what is left of it in grey print.
  function brightness(colour) {
    const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
    return 0.299 * red + 0.587 * green + 0.114 * blue;
  }

  // Black or white, whichever is read better on a colour (WCAG 2.2, contrast ratio: beyond this luminance it is black).
  const INK_TURNS_AT = Math.sqrt(1.05 * 0.05) - 0.05;
  function luminance(colour) {
    const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  }
  const inkOn = (colour) => (luminance(colour) > INK_TURNS_AT ? "#000000" : "#ffffff");

  // Hatches are light on dark colours and dark on light ones: they are seen in grey print, too.
  const tiles = new Map();
  function hatch(context, colour, kind) {
    if (kind === "plain") return colour;
    const key = `${colour} ${kind}`;
    if (!tiles.has(key)) {
      const tile = document.createElement("canvas");
      tile.width = tile.height = 8;
      const pen = tile.getContext("2d");
      pen.fillStyle = colour;
      pen.fillRect(0, 0, 8, 8);
      pen.strokeStyle = pen.fillStyle = brightness(colour) > 190 ? "#00000080" : "#ffffffb0";
      pen.lineWidth = 1.6;
      const line = (...ends) => { pen.beginPath(); pen.moveTo(ends[0], ends[1]); pen.lineTo(ends[2], ends[3]); pen.stroke(); };
      if (kind === "rising" || kind === "crossed") [-8, 0, 8].forEach((x) => line(x, 8, x + 8, 0));
      if (kind === "falling" || kind === "crossed") [-8, 0, 8].forEach((x) => line(x, 0, x + 8, 8));
      if (kind === "level" || kind === "grid") line(0, 4, 8, 4);
      if (kind === "upright" || kind === "grid") line(4, 0, 4, 8);
      if (kind === "checks") { pen.fillRect(0, 0, 4, 4); pen.fillRect(4, 4, 4, 4); }
      if (kind === "dashes") { line(0, 2, 5, 2); line(4, 6, 8, 6); line(0, 6, 1, 6); }
      if (kind === "dots") { pen.fillRect(1, 1, 2, 2); pen.fillRect(5, 5, 2, 2); }
      tiles.set(key, tile);
    }
    return context.createPattern(tiles.get(key), "repeat");
  }

  const SHAPES = {
    cross: (pen, x, y, r) => { pen.moveTo(x - r, y - r); pen.lineTo(x + r, y + r); pen.moveTo(x - r, y + r); pen.lineTo(x + r, y - r); },
    up: (pen, x, y, r) => { pen.moveTo(x - r, y + r); pen.lineTo(x, y - r); pen.lineTo(x + r, y + r); pen.closePath(); },
    down: (pen, x, y, r) => { pen.moveTo(x - r, y - r); pen.lineTo(x, y + r); pen.lineTo(x + r, y - r); pen.closePath(); },
    ring: (pen, x, y, r) => { pen.moveTo(x + r, y); pen.arc(x, y, r, 0, 7); },
    disc: (pen, x, y, r) => { pen.moveTo(x + r, y); pen.arc(x, y, r, 0, 7); },
  };

  // Places that are taken are not drawn on again: many points cost no more than the pixels they cover.
  function points(pen, xs, ys, from, to, place, look, size) {
    const taken = new Set();
    const dot = look.symbol === "dot";
    pen.fillStyle = pen.strokeStyle = look.colour;
    pen.lineWidth = 1.5;
    pen.beginPath();
    for (let index = from; index < to; index++) {
      if (ys[index] === null) continue;
      const [x, y] = [Math.round(place.x(xs[index])), Math.round(place.y(ys[index]))];
      const key = x * 65536 + y;
      if (taken.has(key)) continue;
      taken.add(key);
      if (dot) pen.rect(x - size / 2, y - size / 2, size, size);
      else SHAPES[look.symbol](pen, x, y, look.size);
    }
    if (look.symbol === "disc") disc(pen, look.outline);
    else if (dot || look.symbol === "up" || look.symbol === "down") pen.fill();
    else pen.stroke();
  }

  // A light colour is seen on a light ground by its outline.
  function disc(pen, outline) {
    pen.fill();
    pen.globalAlpha = 0.45;
    [pen.strokeStyle, pen.lineWidth] = [outline, 0.8];
    pen.stroke();
    pen.globalAlpha = 1;
  }

  // How lines are broken: by their number; grey print tells them apart by it.
  const DASHES = [[], [5, 3], [2, 2], [10, 3, 2, 3], [1, 4]];
  const dash = (look) => DASHES[Number(look.dashed ?? 0)];

  // A line from value to value.
  function line(pen, xs, ys, place, look) {
    pen.strokeStyle = look.colour;
    pen.lineWidth = look.dashed ? 1 : 1.4;
    pen.setLineDash(dash(look));
    pen.beginPath();
    let drawing = false;
    xs.forEach((x, index) => {
      if (ys[index] === null) { drawing = false; return; }
      if (drawing) pen.lineTo(place.x(x), place.y(ys[index])); else pen.moveTo(place.x(x), place.y(ys[index]));
      drawing = true;
    });
    pen.stroke();
    pen.setLineDash([]);
  }

  // Bars that stand on zero, each as wide as what is left of its place.
  function bars(pen, xs, ys, place, look) {
    pen.fillStyle = look.colour;
    xs.forEach((x, index) => {
      if (ys[index] === null) return;
      const [left, right, top] = [place.x(x - 0.35), place.x(x + 0.35), place.y(ys[index])];
      pen.fillRect(left, top, right - left, place.y(0) - top);
    });
  }

  // Every two points are the ends of one line; a wide one is a bar.
  function ranges(pen, xs, ys, place, look) {
    pen.strokeStyle = look.colour;
    pen.lineWidth = look.wide ? 0.6 * Math.abs(place.y(1) - place.y(0)) : 1.4;
    pen.beginPath();
    for (let index = 0; index + 1 < xs.length; index += 2) {
      pen.moveTo(place.x(xs[index]), place.y(ys[index]));
      pen.lineTo(place.x(xs[index + 1]), place.y(ys[index + 1]));
    }
    pen.stroke();
  }

  // A line on which each value holds until the next. Within a column of pixels only its ends and extremes are drawn.
  function steps(pen, xs, ys, from, to, place, look, end) {
    pen.strokeStyle = look.colour;
    pen.lineWidth = 1.3;
    pen.setLineDash(dash(look));
    pen.beginPath();
    let column = NaN;
    let [low, high, last, drawing] = [0, 0, 0, false];
    const flush = () => { if (low !== high) { pen.moveTo(column, low); pen.lineTo(column, high); pen.moveTo(column, last); } };
    for (let index = from; index < to; index++) {
      const x = Math.round(place.x(xs[index]));
      if (ys[index] === null) {
        if (drawing) { flush(); pen.lineTo(x, last); }
        [drawing, column] = [false, NaN];
        continue;
      }
      const y = place.y(ys[index]);
      if (drawing && x === column) {
        low = Math.min(low, y);
        high = Math.max(high, y);
      } else {
        if (drawing) { flush(); pen.lineTo(x, last); pen.lineTo(x, y); } else pen.moveTo(x, y);
        [low, high, column, drawing] = [Math.min(y, drawing ? last : y), Math.max(y, drawing ? last : y), x, true];
      }
      last = y;
    }
    if (drawing) { flush(); pen.lineTo(end, last); }
    pen.stroke();
    pen.setLineDash([]);
  }

  // The first place in a rising list that is not below a value.
  function firstFrom(list, value) {
    let [low, high] = [0, list.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle] < value) low = middle + 1; else high = middle;
    }
    return low;
  }

  return { si, ticks, tickTexts, hatch, inkOn, points, bars, ranges, steps, line, firstFrom };
})();
