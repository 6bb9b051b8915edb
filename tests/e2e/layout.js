/**
 * What a reader would call broken in the layout of the page as it is drawn now, one line per fault.
 *
 * Texts are judged line by line, and only as far as their frames let them be seen. Whatever lies under
 * an opaque layer (a menu, a head that stays) is hidden, not overprinted.
 */
() => {
  const faults = new Set();
  const SLACK = 1.5;
  const words = (text) => text.trim().replace(/\s+/g, " ").slice(0, 50);
  const named = (element) => {
    const classes = [...element.classList].join(".");
    return element.localName + (classes === "" ? "" : `.${classes}`);
  };
  const scrolls = (style) => /auto|scroll/.test(style);
  const isLayer = (element) => element.matches("dialog, [popover]");

  /** The part of a box that its frames show, whether one cuts it off, and whether one can be scrolled. */
  function seen(element, box) {
    let { left, right, top, bottom } = box;
    let cut = false;
    let canScroll = false;
    for (let frame = element; frame !== null && frame !== document.body; frame = frame.parentElement) {
      const style = getComputedStyle(frame);
      if (style.display !== "inline" && style.display !== "contents") {
        const at = frame.getBoundingClientRect();
        if (style.overflowX !== "visible") {
          const isTold = style.textOverflow === "ellipsis" || frame.title !== "";
          cut ||= !canScroll && !scrolls(style.overflowX) && !isTold && right > at.right + SLACK;
          canScroll ||= scrolls(style.overflowX);
          left = Math.max(left, at.left);
          right = Math.min(right, at.right);
        }
        if (style.overflowY !== "visible") {
          top = Math.max(top, at.top);
          bottom = Math.min(bottom, at.bottom);
        }
      }
      if (style.position === "fixed" || isLayer(frame)) {
        break;
      }
    }
    return { left, right, top, bottom, cut, canScroll };
  }

  /** Within the height of the window, where it may be scrolled to; beside it is a fault of its own. */
  const isIn = ({ left, right, top, bottom }) =>
    right - left > 2 && bottom - top > 2 && bottom > 0 && top < innerHeight;

  function isOpaque(element) {
    const parts = getComputedStyle(element).backgroundColor.match(/[\d.]+/g) ?? [];
    return parts.length === 3 || Number(parts[3] ?? 0) > 0.9;
  }

  /** Whether something opaque, which is no part of the lower of the two, lies between them. */
  function isParted(one, other, x, y) {
    let upper = null;
    for (const element of document.elementsFromPoint(x, y)) {
      const [isOne, isOther] = [element === one, element === other];
      if (upper !== null && (isOne || isOther)) {
        return false;
      }
      if (upper === null && (isOne || isOther)) {
        upper = isOne ? one : other;
      }
      const lower = upper === one ? other : one;
      if (isOpaque(element) && (upper === null ? !(element.contains(one) && element.contains(other)) : !element.contains(lower))) {
        return true;
      }
    }
    return upper === null;
  }

  const lines = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement;
    const isShown = element?.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    if (words(node.data) === "" || !isShown || element.closest("script, style, .unseen, .wide-seen, option")) {
      continue;
    }
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      const part = seen(element, box);
      if (!isIn(part)) {
        continue;
      }
      if (part.cut && element.title === "") {
        faults.add(`cut without a sign: ${named(element)} "${words(node.data)}"`);
      }
      if (part.right > innerWidth + SLACK || part.left < -SLACK) {
        faults.add(`beyond the window: ${named(element)} "${words(node.data)}"`);
      }
      lines.push({ element, text: words(node.data), ...part });
    }
  }
  for (const head of document.querySelectorAll("main .dt > thead th")) {
    if (words(head.textContent) !== "" && head.querySelector(".tip") === null) {
      faults.add(`a column without a definition: "${words(head.textContent)}"`);
    }
  }
  lines.sort((one, other) => one.top - other.top);
  lines.forEach((one, at) => {
    for (let next = at + 1; next < lines.length && lines[next].top < one.bottom; next += 1) {
      const other = lines[next];
      const left = Math.max(one.left, other.left);
      const right = Math.min(one.right, other.right);
      const bottom = Math.min(one.bottom, other.bottom);
      const height = Math.min(one.bottom - one.top, other.bottom - other.top);
      if (one.element === other.element || right - left < 3 || bottom - other.top < 0.4 * height) {
        continue;
      }
      if (!isParted(one.element, other.element, (left + right) / 2, (other.top + bottom) / 2)) {
        faults.add(`overprinted: ${named(one.element)} "${one.text}" and "${other.text}"`);
      }
    }
  });

  const isOver = (element) => {
    for (let frame = element; frame !== null; frame = frame.parentElement) {
      if (isLayer(frame) || /sticky|fixed/.test(getComputedStyle(frame).position)) {
        return true;
      }
    }
    return false;
  };
  const CONTROLS = "button, a[href], select, input, summary, [role=tab], [role=menuitem], [role=option]";
  for (const control of document.querySelectorAll(CONTROLS)) {
    const box = control.getBoundingClientRect();
    const part = seen(control, box);
    const isShown = control.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    if (control.disabled || !isShown || !isIn(part)) {
      continue;
    }
    const [x, y] = [(part.left + part.right) / 2, (part.top + part.bottom) / 2];
    const top = document.elementFromPoint(x, y);
    const isOwn = top === null || control.contains(top) || top.contains(control);
    // Points of a chart may lie on each other: its table has them all.
    const isPoint = control.matches(".point") && top?.matches(".point");
    if (!isOwn && !isPoint && !control.closest("label")?.contains(top) && !isOver(top)) {
      faults.add(`covered by ${named(top)}: ${named(control)} "${words(control.textContent)}"`);
    }
  }
  if (document.documentElement.scrollWidth > innerWidth + 1) {
    faults.add("the page scrolls sideways");
  }
  return [...faults];
}
