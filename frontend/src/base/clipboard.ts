/** Copying text, also where the clipboard interface is missing or refused (framed pages, plain HTTP). */

function copyBySelection(text: string): boolean {
  const area = document.createElement("textarea");
  const focused = document.activeElement;
  area.value = text;
  area.setAttribute("readonly", "");
  area.style.position = "fixed";
  area.style.opacity = "0";
  // Inside an open dialog everything outside of it is inert and cannot be selected.
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  let done = false;
  try {
    done = document.execCommand("copy");
  } catch {
    done = false;
  }
  area.remove();
  if (focused instanceof HTMLElement) {
    focused.focus({ preventScroll: true });
  }
  return done;
}

/** Whether the text is now on the clipboard. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}
