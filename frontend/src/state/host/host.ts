/** Where the page runs: alone, or in a frame of TensorBoard whose window can or cannot be reached. */

export interface Host {
  /** Name of the plugin whose frame this is; null = the page stands alone. */
  readonly plugin: string | null;
  /** The window whose address holds the state, and whose theme is followed. */
  readonly window: Window;
  /** Whether the frame around ours can be reached. */
  readonly hasParent: boolean;
}

/** The plugin's name out of the address the frame was given. */
export function pluginOf(baseUri: string): string | null {
  const match = /\/data\/plugin\/([^/?#]+)\//.exec(baseUri);
  return match?.[1] === undefined ? null : decodeURIComponent(match[1]);
}

function reachableParent(): Window | null {
  try {
    const parent = window.parent;
    // Reading the address throws for a parent of another origin.
    return parent !== window && parent.location.href !== "" && parent.document.body !== null
      ? parent
      : null;
  } catch {
    return null;
  }
}

/** The frame that TensorBoard made for the plugin. */
export function tensorboardHost(): Host {
  const parent = reachableParent();
  const plugin = pluginOf(document.baseURI);
  return parent === null || plugin === null
    ? { plugin: null, window, hasParent: false }
    : { plugin, window: parent, hasParent: true };
}

/** A page of its own, also when something frames it. */
export function standaloneHost(): Host {
  return { plugin: null, window, hasParent: false };
}
