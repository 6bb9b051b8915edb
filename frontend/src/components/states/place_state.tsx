/** A whole page that has no figures to show, and says why and what to do. */
import type { ReactNode } from "react";
import { adoptStyles } from "../../base/style/styles";
import placeCss from "./place_state.css?inline";

interface PlaceStateProps {
  readonly title: ReactNode;
  readonly children: ReactNode;
  readonly actions?: ReactNode;
}

export function PlaceState({ title, children, actions }: PlaceStateProps) {
  adoptStyles(placeCss);
  return (
    <section className="place">
      <h1>{title}</h1>
      {children}
      {actions === undefined ? null : <div className="row wrap">{actions}</div>}
    </section>
  );
}
