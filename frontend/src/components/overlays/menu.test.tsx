import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { Menu, MenuItem } from "./menu";

it("is opened, walked and left by keys, and closes when something is chosen", async () => {
  const user = userEvent.setup();
  const run = vi.fn();
  render(
    <Menu className="btn" label="Palette" button="Palette">
      <MenuItem words="Light" isOn run={() => run("light")} />
      <MenuItem words="Grey" isDisabled run={() => run("grey")} />
      <MenuItem words="Dark" isOn={false} run={() => run("dark")} />
    </Menu>,
  );
  const focused = () => document.activeElement?.textContent;
  await user.tab();
  await user.keyboard("{ArrowDown}");
  expect(focused()).toBe("Light");
  expect(screen.getByRole("menuitemradio", { checked: true }).textContent).toBe("Light");
  await user.keyboard("{ArrowDown}");
  expect(focused()).toBe("Dark");
  await user.keyboard("{Home}");
  expect(focused()).toBe("Light");
  await user.keyboard("{Escape}");
  expect(screen.queryByRole("menu")).toBeNull();
  expect(focused()).toBe("Palette");
  await user.keyboard("{ArrowDown}{End}{Enter}");
  expect(run.mock.calls).toEqual([["dark"]]);
  expect(screen.queryByRole("menu")).toBeNull();
});
