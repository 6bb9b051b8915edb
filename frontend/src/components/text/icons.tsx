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

export const Chevron = () => (
  <Icon size={10}>
    <path d="M2 4.5 7 9.5 12 4.5" strokeWidth="2" />
  </Icon>
);

export const SearchIcon = () => (
  <Icon>
    <circle cx="6" cy="6" r="4" />
    <path d="m9 9 3.5 3.5" />
  </Icon>
);

export const LinkIcon = () => (
  <Icon>
    <path d="M6 8.5 9.5 5M5 5H4a3 3 0 0 0 0 6h2M8 3h2a3 3 0 0 1 0 6H9" />
  </Icon>
);

export const ThemeIcon = () => (
  <Icon>
    <circle cx="7" cy="7" r="5" />
    <path d="M7 2a5 5 0 0 1 0 10z" fill="currentColor" />
  </Icon>
);

export const CheckIcon = () => (
  <Icon size={12}>
    <path d="m2.5 7.3 3 3 6-6.6" />
  </Icon>
);

export const WarningIcon = () => (
  <Icon size={12}>
    <path d="M7 1.5 13 12.5H1z" />
    <path d="M7 5.5v3M7 10.4v.6" />
  </Icon>
);

export const ErrorIcon = () => (
  <Icon size={12}>
    <circle cx="7" cy="7" r="5.6" />
    <path d="M4.8 4.8l4.4 4.4M9.2 4.8 4.8 9.2" />
  </Icon>
);

export const InfoIcon = () => (
  <Icon size={12}>
    <circle cx="7" cy="7" r="5.6" />
    <path d="M7 6.3v3.9M7 3.6v.9" />
  </Icon>
);

export const CloseIcon = () => (
  <Icon size={12}>
    <path d="M3 3l8 8M11 3l-8 8" />
  </Icon>
);

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
