/** The state of the page, kept in the address of the host's window. */

import { cell } from "../cell";
import type { Host } from "../host/host";
import {
  chosenTab,
  type Dialect,
  formatFragment,
  type Patch,
  parseFragment,
  patched,
  sameValues,
  type Values,
} from "./fragment";

export interface Address {
  get(): Values;
  /** A small change: no entry in the history. */
  replace(patch: Patch): void;
  /** Going somewhere: back returns. */
  navigate(patch: Patch): void;
  /** The whole address after a change, for links. */
  href(patch: Patch): string;
  subscribe(listener: () => void): () => void;
  close(): void;
}

const fragmentOf = (view: Window) => {
  const { href } = view.location;
  const at = href.indexOf("#");
  return at < 0 ? "" : href.slice(at);
};

export function openAddress(host: Host): Address {
  const dialect: Dialect = { plugin: host.plugin };
  const view = host.window;
  const values = cell(read());

  function read(): Values {
    try {
      return parseFragment(fragmentOf(view), dialect);
    } catch {
      return {};
    }
  }

  function accept(next: Values): void {
    if (!sameValues(values.get(), next)) {
      values.set(next);
    }
  }

  /** TensorBoard shows another tab: its address is not ours to write. */
  function isAway(fragment: string): boolean {
    const tab = chosenTab(fragment);
    return dialect.plugin !== null && tab !== null && tab !== dialect.plugin;
  }

  function href(patch: Patch): string {
    const { origin, pathname, search } = view.location;
    const base = origin === "null" ? pathname : origin + pathname;
    return base + search + formatFragment(fragmentOf(view), patched(values.get(), patch), dialect);
  }

  function write(patch: Patch, isNavigation: boolean): void {
    const next = patched(values.get(), patch);
    if (sameValues(values.get(), next)) {
      return;
    }
    try {
      const before = fragmentOf(view);
      if (!isAway(before)) {
        const fragment = formatFragment(before, next, dialect);
        if (isNavigation) {
          view.location.hash = fragment;
        } else {
          const { pathname, search } = view.location;
          view.history.replaceState(view.history.state, "", pathname + search + fragment);
        }
      }
    } catch {
      // A frame that may not touch the address keeps its state in memory.
    }
    accept(next);
  }

  const onMove = () => {
    // Without our tab in it, an address says nothing about us.
    if (!isAway(fragmentOf(view))) {
      accept(read());
    }
  };
  view.addEventListener("hashchange", onMove);
  view.addEventListener("popstate", onMove);

  return {
    get: values.get,
    replace: (patch) => write(patch, false),
    navigate: (patch) => write(patch, true),
    href,
    subscribe: values.subscribe,
    close() {
      view.removeEventListener("hashchange", onMove);
      view.removeEventListener("popstate", onMove);
    },
  };
}
