/** The style sheets that every part of the page needs. A view brings its own. */
import controls from "./css/controls.css?inline";
import fills from "./css/fills.css?inline";
import page from "./css/page.css?inline";
import tables from "./css/tables.css?inline";
import tokens from "./css/tokens.css?inline";
import { adoptStyles } from "./styles";

export function installStyles(): void {
  for (const css of [tokens, page, controls, fills, tables]) {
    adoptStyles(css);
  }
}
