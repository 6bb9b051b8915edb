/** Line icons, drawn in the colour of the text. They decorate: the words beside them carry the meaning. */
import type { ReactNode } from "react";

export function Icon({ size = 14, children }: { size?: number; children: ReactNode }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 14 14"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.4"
      aria-hidden="true"
      focusable="false"
    >
      {children}
    </svg>
  );
}

/** An icon that is one path. */
export const icon =
  (path: string, size = 14) =>
  () => (
    <Icon size={size}>
      <path d={path} />
    </Icon>
  );

export const Chevron = () => (
  <Icon size={10}>
    <path d="M2 4.5 7 9.5 12 4.5" strokeWidth="2" />
  </Icon>
);

export const SearchIcon = icon("M2 6a4 4 0 1 0 8 0a4 4 0 1 0-8 0M9 9l3.5 3.5");
export const LinkIcon = icon("M6 8.5 9.5 5M5 5H4a3 3 0 0 0 0 6h2M8 3h2a3 3 0 0 1 0 6H9");
export const SaveIcon = icon("M7 2v7M4 6.2 7 9.2l3-3M2.5 11.8h9");
export const ThemeIcon = () => (
  <Icon>
    <circle cx="7" cy="7" r="5" />
    <path d="M7 2a5 5 0 0 1 0 10z" fill="currentColor" />
  </Icon>
);

export const CheckIcon = icon("m2.5 7.3 3 3 6-6.6", 12);
export const WarningIcon = icon("M7 1.5 13 12.5H1zM7 5.5v3M7 10.4v.6", 12);
export const ErrorIcon = icon(
  "M1.4 7a5.6 5.6 0 1 0 11.2 0a5.6 5.6 0 1 0-11.2 0M4.8 4.8l4.4 4.4M9.2 4.8 4.8 9.2",
  12,
);
export const InfoIcon = icon(
  "M1.4 7a5.6 5.6 0 1 0 11.2 0a5.6 5.6 0 1 0-11.2 0M7 6.3v3.9M7 3.6v.9",
  12,
);
export const CloseIcon = icon("M3 3l8 8M11 3l-8 8", 12);

/** The word mark's glyph: a frame of film with the bars of a profile. */
export function Glyph() {
  return (
    <svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true" focusable="false">
      <rect x="1" y="2" width="16" height="14" rx="3" fill="var(--ink)" />
      <g fill="var(--surface)">
        {[4, 8, 12].flatMap((y) =>
          [3, 13].map((x) => <rect key={`${x} ${y}`} x={x} y={y} width="2" height="2" rx=".6" />),
        )}
      </g>
      <path d="M7 12V9.5M9 12V6M11 12V8" stroke="var(--surface)" strokeWidth="1.3" />
    </svg>
  );
}
