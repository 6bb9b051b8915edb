/** How the run was recorded, and what of this page it cannot fill. */
import type { Configuration as Entry } from "../../api/types.gen";
import { Panel } from "../../components/panel";
import { Prose } from "../../components/prose";

interface ConfigurationProps {
  readonly entries: readonly Entry[];
  /** Parts of the page without a place of their own → why they are missing. */
  readonly missing: readonly (readonly [string, string])[];
  readonly isOld: boolean;
}

export function Configuration({ entries, missing, isOld }: ConfigurationProps) {
  return (
    <Panel title="Configuration" isOld={isOld}>
      <dl className="facts">
        {entries.map(({ label, value }) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>
              <Prose text={value} />
            </dd>
          </div>
        ))}
      </dl>
      {missing.map(([part, reason]) => (
        <p key={part} className="ink2 small missing">
          <Prose text={reason} />
        </p>
      ))}
    </Panel>
  );
}
