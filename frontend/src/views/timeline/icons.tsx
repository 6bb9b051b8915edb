/** Line icons of the Trace view. They decorate: the words beside them, or their labels, tell. */
import { Icon, icon } from "../../components/text/icons";

export const PointerIcon = () => (
  <Icon>
    <path d="M3 1.6l8 5.2-3.5.8L5.6 11z" fill="currentColor" stroke="none" />
  </Icon>
);

export const PanIcon = icon(
  "M7 1.5v11M1.5 7h11M5.4 3 7 1.4 8.6 3M5.4 11 7 12.6 8.6 11M3 5.4 1.4 7 3 8.6M11 5.4 12.6 7 11 8.6",
);
export const ZoomIcon = icon("M2 6a4 4 0 1 0 8 0a4 4 0 1 0-8 0M9 9l3.6 3.6M4.2 6h3.6M6 4.2v3.6");
export const MeasureIcon = icon(
  "M1.5 3.5v7M12.5 3.5v7M3.5 7h7M5 5.2 3.2 7 5 8.8M9 5.2 10.8 7 9 8.8",
);
export const DotsIcon = () => (
  <Icon>
    <path d="M2.6 7h.1M7 7h.1M11.4 7h.1" strokeWidth="2.2" strokeLinecap="round" />
  </Icon>
);

export const DownloadIcon = icon("M7 1.8v7M4 6l3 3 3-3M2 12h10");
export const PreviousIcon = icon("M8.6 3 4.8 7l3.8 4");
export const NextIcon = icon("M5.4 3 9.2 7l-3.8 4");
