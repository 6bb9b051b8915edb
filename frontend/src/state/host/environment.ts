import { createContext, useContext, useSyncExternalStore } from "react";
import { recall, remember } from "../../base/storage";
import { cell } from "../cell";
import { type Address, openAddress } from "../location/address";
import type { Values } from "../location/fragment";
import type { Host } from "./host";

/** Light or dark: TensorBoard's, else the choice kept in the page, else the system's. */

export type ThemeName = "light" | "dark";

export interface ThemeChoice {
  get(): ThemeName;
  /** Whether the surrounding page decides: then there is nothing to choose here. */
  readonly isHosted: boolean;
  toggle(): void;
  /** Takes the theme of an editor around the page. */
  follow(theme: ThemeName): void;
  subscribe(listener: () => void): () => void;
}

const KEY = "theme";

function hostedTheme(host: Host): ThemeName {
  try {
    return host.window.document.body.classList.contains("dark-mode") ? "dark" : "light";
  } catch {
    return "light";
  }
}

export function openTheme(host: Host): ThemeChoice {
  let followed: ThemeName | null = null;
  const system = window.matchMedia?.("(prefers-color-scheme: dark)");

  function wanted(): ThemeName {
    if (followed !== null) {
      return followed;
    }
    if (host.hasParent) {
      return hostedTheme(host);
    }
    const kept = recall(KEY);
    if (kept === "light" || kept === "dark") {
      return kept;
    }
    return system?.matches ? "dark" : "light";
  }

  function apply(): void {
    const next = wanted();
    document.documentElement.dataset["theme"] = next;
    current.set(next);
  }

  const current = cell(wanted());
  apply();
  if (host.hasParent) {
    const watch = new MutationObserver(apply);
    watch.observe(host.window.document.body, { attributes: true, attributeFilter: ["class"] });
  } else {
    system?.addEventListener("change", apply);
  }

  return {
    get: current.get,
    get isHosted() {
      return host.hasParent || followed !== null;
    },
    follow(theme) {
      followed = theme;
      apply();
    },
    toggle() {
      remember(KEY, current.get() === "dark" ? "light" : "dark");
      apply();
    },
    subscribe: current.subscribe,
  };
}

/** What every part of the page may ask for without being handed it: the address, the theme, the host. */

export interface Environment {
  readonly host: Host;
  readonly address: Address;
  readonly theme: ThemeChoice;
}

export function openEnvironment(host: Host): Environment {
  return { host, address: openAddress(host), theme: openTheme(host) };
}

export const EnvironmentContext = createContext<Environment | null>(null);

export function useEnvironment(): Environment {
  const environment = useContext(EnvironmentContext);
  if (environment === null) {
    throw new Error("rendered outside of the page");
  }
  return environment;
}

export const useAddress = (): Address => useEnvironment().address;

/** The values in the address, as they are now. */
export function useValues(): Values {
  const address = useAddress();
  return useSyncExternalStore(address.subscribe, address.get);
}

export function useThemeName(): ThemeName {
  const { theme } = useEnvironment();
  return useSyncExternalStore(theme.subscribe, theme.get);
}
