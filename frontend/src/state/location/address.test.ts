import { afterEach, describe, expect, it, vi } from "vitest";
import { pluginOf } from "../host/host";
import { type Address, openAddress } from "./address";

let address: Address | null = null;
afterEach(() => {
  address?.close();
  address = null;
  window.location.hash = "";
});

function open(hash: string, plugin: string | null) {
  window.location.hash = hash;
  address = openAddress({ plugin, window, hasParent: plugin !== null });
  return address;
}

it("opens a deep link just so", () => {
  expect(open("#view=overview&run=a%2Fb&steps=2-4", null).get()).toEqual({
    view: "overview",
    run: "a/b",
    steps: "2-4",
  });
});

it("adds a history entry for going somewhere, and none for a small change", () => {
  const replaced = vi.spyOn(window.history, "replaceState");
  const state = open("#run=a", null);
  state.replace({ steps: "3" });
  expect(window.location.hash).toBe("#run=a&steps=3");
  expect(replaced).toHaveBeenCalledTimes(1);
  state.navigate({ view: "health" });
  expect(window.location.hash).toBe("#run=a&steps=3&view=health");
  expect(replaced).toHaveBeenCalledTimes(1);
});

it("tells its listeners once per change, and not when nothing changed", () => {
  const state = open("#run=a", null);
  const listener = vi.fn();
  const stop = state.subscribe(listener);
  state.replace({ run: "a" });
  expect(listener).not.toHaveBeenCalled();
  state.replace({ run: "b" });
  expect(listener).toHaveBeenCalledTimes(1);
  stop();
  state.replace({ run: "c" });
  expect(listener).toHaveBeenCalledTimes(1);
});

it("follows the address when somebody else changes it", () => {
  const state = open("#run=a", null);
  window.history.replaceState(null, "", "#run=b&view=health");
  window.dispatchEvent(new Event("popstate"));
  expect(state.get()).toEqual({ run: "b", view: "health" });
});

describe("inside TensorBoard", () => {
  it("keeps the tab and the keys of others", () => {
    const state = open("#pytorch_profiler&p.other.x=1", "pytorch_profiler");
    state.replace({ run: "a b" });
    expect(window.location.hash).toBe("#pytorch_profiler&p.other.x=1&p.pytorch_profiler.run=a%20b");
    expect(state.href({ view: "health" })).toMatch(/&p\.pytorch_profiler\.view=health$/);
  });

  it("does not touch the address while another tab is shown, nor forget itself", () => {
    const state = open("#pytorch_profiler&p.pytorch_profiler.run=a", "pytorch_profiler");
    window.history.replaceState(null, "", "#scalars&p.pytorch_profiler.run=a");
    window.dispatchEvent(new Event("hashchange"));
    state.replace({ steps: "3" });
    expect(window.location.hash).toBe("#scalars&p.pytorch_profiler.run=a");
    expect(state.get()).toEqual({ run: "a", steps: "3" });
  });

  it("knows its name from the address of its frame", () => {
    const base = "http://localhost:6006/proxy/data/plugin/pytorch_profiler/";
    expect(pluginOf(base)).toBe("pytorch_profiler");
    expect(pluginOf("http://localhost:8000/index.html")).toBeNull();
  });
});

it("keeps its state where the address is forbidden", () => {
  const forbidden = () => {
    throw new DOMException("sandboxed", "SecurityError");
  };
  vi.spyOn(window.history, "replaceState").mockImplementation(forbidden);
  const state = open("", null);
  state.replace({ run: "a" });
  expect(state.get()).toEqual({ run: "a" });
});
