/** The step as light, waste and the rest: one bar whose parts sum to it. */
import type { SpeedPart } from "../../api/types.gen";
import { share, time } from "../../base/text/format";
import { fillClass, Swatch } from "./category";

const FILLS: Readonly<Record<string, readonly [category: string, isGhost: boolean]>> = {
  light: ["compute", false],
  waste: ["compute", true],
  no_figure: ["other", true],
  exposed_communication: ["comm", false],
  exposed_copy: ["memcpy", false],
  memset: ["memset", false],
  idle: ["idle", true],
};

const fillOf = (key: string) => FILLS[key] ?? (["other", false] as const);

export function LightBar({ parts }: { parts: readonly SpeedPart[] }) {
  const shown = parts.filter(({ ns }) => ns > 0);
  const words = ({ name, ns, ratio }: SpeedPart) => `${name} ${time(ns)}, ${share(ratio)}`;
  return (
    <>
      <div className="light-bar" role="img" aria-label={shown.map(words).join("; ")}>
        {shown.map((part) => (
          <i
            key={part.key}
            className={fillClass(...fillOf(part.key))}
            style={{ flexGrow: part.ns }}
            title={`${words(part)}\n${part.help}`}
          />
        ))}
      </div>
      <ul className="light-legend">
        {shown.map((part) => (
          <li key={part.key} title={part.help}>
            <Swatch category={fillOf(part.key)[0]} ghost={fillOf(part.key)[1]} /> {part.name}{" "}
            <b>{share(part.ratio)}</b> {time(part.ns)}
          </li>
        ))}
      </ul>
    </>
  );
}

interface Use {
  readonly mfu_ratio: number | null;
  readonly hfu_ratio: number | null;
  readonly mbu_ratio: number | null;
  readonly at_least: boolean;
}

/** From this difference on, HFU says more than MFU. */
const APART = 0.01;

/** "MFU 38 %, HFU 50 %", as far as they are known. */
export function utilizationWords({ mfu_ratio, hfu_ratio, mbu_ratio, at_least }: Use): string {
  const least = mfu_ratio ?? 0;
  const isApart =
    hfu_ratio !== null && hfu_ratio >= least * (1 + APART) && share(hfu_ratio) !== share(least);
  const named = [
    ["MFU", mfu_ratio],
    ["HFU", isApart ? hfu_ratio : null],
    ["MBU of decode", mbu_ratio],
  ] as const;
  return named
    .flatMap(([name, ratio]) =>
      ratio === null ? [] : [`${name} ${at_least ? "at least " : ""}${share(ratio)}`],
    )
    .join(", ");
}
