/** What every part of the page may ask for without being handed it: the address, the theme, the host. */
import { createContext, useContext, useSyncExternalStore } from "react";
import { type Address, openAddress } from "./address";
import type { Values } from "./fragment";
import type { Host } from "./host";
import { openTheme, type ThemeChoice, type ThemeName } from "./theme_choice";

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
