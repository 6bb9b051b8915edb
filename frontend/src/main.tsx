/** The entry of the page on its own. */
import { mount } from "./mount";
import { standaloneHost } from "./state/host/host";

mount(standaloneHost());
