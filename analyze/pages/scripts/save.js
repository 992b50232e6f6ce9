"use strict";
// A chart as it is shown, as a file: PNG of its canvas, CSV of its points.
page.save = (() => {
  const { make } = page;

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

  // `rows` gives what is shown when it is asked for: [series, x, y] each.
  function buttons(name, canvas, head, rows) {
    const node = make("span", undefined, "save");
    const acts = {
      PNG: () => canvas.toBlob((blob) => download(`${name}.png`, blob)),
      CSV: () => download(`${name}.csv`, new Blob([csv(head, rows())], { type: "text/csv" })),
    };
    for (const [kind, act] of Object.entries(acts)) {
      const button = make("button", kind, "plain");
      button.type = "button";
      button.title = `save this chart as ${kind}`;
      button.addEventListener("click", act);
      node.append(button, " ");
    }
    return node;
  }

  return { buttons, csv };
})();
