// Returns every text of the page that is cut, lies over another text, or was shortened by a chart.
(() => {
  const problems = [];
  const width = document.documentElement.clientWidth;
  const scope = document.querySelector("dialog[open]") ?? document.body;
  if (document.documentElement.scrollWidth > width) problems.push(`the page is ${document.documentElement.scrollWidth} wide`);
  const short = (text) => text.trim().replace(/\s+/g, " ").slice(0, 50);
  const shown = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const boxes = [];

  for (const svg of scope.querySelectorAll(".chart svg")) {
    const frame = svg.getBoundingClientRect();
    for (const text of svg.querySelectorAll("text")) {
      if (!text.textContent.trim() || !shown(text) || text.getAttribute("opacity") === "0") continue;
      const box = text.getBoundingClientRect();
      if (!box.width) continue;
      if (text.textContent.includes("…")) problems.push(`a chart shortens '${short(text.textContent)}'`);
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
        problems.push(`a chart cuts '${short(text.textContent)}'`);
      boxes.push({ box, text: text.textContent, element: text });
    }
  }

  const scrolls = (element, axis) => ["auto", "scroll"].includes(getComputedStyle(element)[`overflow${axis}`]);
  const walker = document.createTreeWalker(scope, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, element = node.parentElement;
    if (!node.data.trim() || element.closest("script, style, svg, option, .skip, .cards thead, math")) continue;
    if (scope === document.body && element.closest("dialog")) continue;
    if (!shown(element)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      if (box.width < 1 || box.height < 1) continue;
      let hidden = false;
      for (let up = element; up && up !== scope.parentElement; up = up.parentElement) {
        const style = getComputedStyle(up), edge = up.getBoundingClientRect();
        const beyondX = box.right > edge.right + 1.5 || box.left < edge.left - 1.5;
        const beyondY = box.bottom > edge.bottom + 1.5 || box.top < edge.top - 1.5;
        // What can be scrolled to is not cut; what lies outside of the window of a scroller is not seen.
        if ((beyondX && scrolls(up, "X")) || (beyondY && scrolls(up, "Y"))) { hidden = true; break; }
        if ((beyondX && ["hidden", "clip"].includes(style.overflowX)) || (beyondY && ["hidden", "clip"].includes(style.overflowY)))
          problems.push(`'${short(node.data)}' is cut by ${up.tagName}.${up.className}`);
      }
      if (hidden) continue;
      if (box.right > width + 1 || box.left < -1) problems.push(`'${short(node.data)}' leaves the page`);
      if (!element.closest("thead")) boxes.push({ box, text: node.data, element });
    }
  }

  boxes.sort((a, b) => a.box.top - b.box.top);
  boxes.forEach((one, i) => {
    for (let k = i + 1; k < boxes.length && boxes[k].box.top < one.box.bottom - 3; k += 1) {
      const other = boxes[k];
      const wide = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
      const high = Math.min(one.box.bottom, other.box.bottom) - other.box.top;
      if (wide > 2 && high > 4 && one.element !== other.element && !one.element.contains(other.element) && !other.element.contains(one.element))
        problems.push(`'${short(one.text)}' lies over '${short(other.text)}'`);
    }
  });
  return [...new Set(problems)];
})()
