/** What every test of the page relies on: a clean document, and a silent console. */
import { cleanup } from "@testing-library/react";
import { afterEach, beforeEach, expect, vi } from "vitest";

const complaints = vi.fn<(...args: unknown[]) => void>();

beforeEach(() => {
  complaints.mockReset();
  vi.spyOn(console, "error").mockImplementation(complaints);
  vi.spyOn(console, "warn").mockImplementation(complaints);
});

afterEach(() => {
  cleanup();
  expect(complaints.mock.calls, "what the page wrote to the console").toEqual([]);
});
