/** Line icons of the Trace view. They decorate: the words beside them, or their labels, tell. */
import { Icon } from "../../components/text/icons";

export const PointerIcon = () => (
  <Icon>
    <path d="M3 1.6l8 5.2-3.5.8L5.6 11z" fill="currentColor" stroke="none" />
  </Icon>
);

export const PanIcon = () => (
  <Icon>
    <path d="M7 1.5v11M1.5 7h11M5.4 3 7 1.4 8.6 3M5.4 11 7 12.6 8.6 11M3 5.4 1.4 7 3 8.6M11 5.4 12.6 7 11 8.6" />
  </Icon>
);

export const ZoomIcon = () => (
  <Icon>
    <circle cx="6" cy="6" r="4" />
    <path d="m9 9 3.6 3.6M4.2 6h3.6M6 4.2v3.6" />
  </Icon>
);

export const MeasureIcon = () => (
  <Icon>
    <path d="M1.5 3.5v7M12.5 3.5v7M3.5 7h7M5 5.2 3.2 7 5 8.8M9 5.2 10.8 7 9 8.8" />
  </Icon>
);

export const DotsIcon = () => (
  <Icon>
    <path d="M2.6 7h.1M7 7h.1M11.4 7h.1" strokeWidth="2.2" strokeLinecap="round" />
  </Icon>
);

export const DownloadIcon = () => (
  <Icon>
    <path d="M7 1.8v7M4 6l3 3 3-3M2 12h10" />
  </Icon>
);

export const PreviousIcon = () => (
  <Icon>
    <path d="M8.6 3 4.8 7l3.8 4" />
  </Icon>
);

export const NextIcon = () => (
  <Icon>
    <path d="M5.4 3 9.2 7l-3.8 4" />
  </Icon>
);
