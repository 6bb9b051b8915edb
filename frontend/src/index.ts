/** The entry that TensorBoard imports into the frame it made for the plugin. */
import { mount } from "./mount";
import { tensorboardHost } from "./state/host/host";

export function render(): void {
  mount(tensorboardHost());
}
