"use strict";
// What is said of the chosen connection: the verdict first, its evidence as ways to the place in the lanes.
page.verdict = (() => {
  const { data, element, make, filterNode } = page;
  const count = (value) => value.toLocaleString("en");

  function evidenceNode(evidence) {
    const item = make("li");
    item.append(`${evidence.text}: frames `);
    evidence.frames.forEach((frame, index) => {
      const link = make("button", count(frame.frame), "link");
      link.type = "button";
      link.title = "show where this is";
      link.addEventListener("click", () => page.packets.frame(frame));
      item.append(index ? ", " : "", link);
    });
    item.append(" ", filterNode(evidence.filter));
    return item;
  }

  function listed(title, items) {
    if (!items.length) return [];
    const list = make("ul");
    list.append(...items);
    return [make("h3", title), list];
  }

  // On a phone behind a fold: the lanes are to be in the first screen.
  function behind(nodes) {
    if (!nodes.length || !matchMedia("(max-width: 40rem)").matches) return nodes;
    const fold = make("details");
    fold.append(make("summary", "What would help, and evidence"), ...nodes);
    return [fold];
  }

  let shown = null;
  function tint() {
    if (shown?.factor) element("verdict").style.setProperty("--factor", page.shade(data.factors[shown.factor].colour));
    else element("verdict").style.removeProperty("--factor");
  }
  page.onTheme(tint);

  // Of a connection that did not open, move its data or end well that is said first.
  function outcome(said) {
    if (!said) return [];
    const facts = make("p", undefined, "verdict-facts");
    facts.append(make("b", said.name, "chip"), ` ${said.facts.join(", ")}`);
    return [make("p", said.sentence, "sentence"), facts, ...listed("Evidence", said.evidence.map(evidenceNode)),
      ...listed("What would help", [make("li", said.remedy)])];
  }

  function verdict(said) {
    const card = element("verdict");
    const line = make("p", said.sentence, "sentence");
    const parts = [...outcome(said.outcome), line];
    if (said.factor) {
      const facts = make("p", undefined, "verdict-facts");
      const chip = make("b", said.open ? "undecided" : data.factors[said.factor].name, "chip");
      facts.append(chip, ` ${said.facts.join(", ")}`);
      parts.push(facts);
    }
    shown = said;
    tint();
    parts.push(...behind([
      ...listed("What would help", said.what_if.map((text) => make("li", text))),
      ...listed("Evidence", said.evidence.map(evidenceNode)),
    ]));
    card.replaceChildren(...parts);
  }

  function ledger(parts) {
    element("ledger").hidden = element("ledger-title").hidden = !parts.length;
    element("ledger").replaceChildren(...parts.map((part) => {
      const bar = make("i", undefined, part.hatch);
      bar.style.backgroundColor = part.colour;
      bar.style.width = `${part.share * 100}%`;
      bar.title = `${part.name}: ${part.text}`;
      return bar;
    }));
    element("ledger-key").replaceChildren(...parts.map((part) => {
      const item = make("li");
      const swatch = make("i", undefined, part.hatch);
      swatch.style.backgroundColor = part.colour;
      item.append(swatch, `${part.name} ${part.text}`);
      return item;
    }));
  }

  function show(plot) {
    verdict(plot.verdict);
    element("facts").replaceChildren(...plot.facts.map(([name, value]) => {
      const pair = make("div");
      pair.append(make("dt", name), make("dd", value));
      return pair;
    }));
    ledger(plot.ledger);
    element("notes").replaceChildren(...plot.notes.map((note) => make("li", note)));
  }

  return { show };
})();
