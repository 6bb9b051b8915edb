/** What did torch.compile compile, why again, and what does a graph break cost? */
import type { Reference } from "../../api/types.gen";
import { adoptStyles } from "../../base/style/styles";
import { harmless } from "../../base/text/shown_name";
import { ViewLink } from "../../components/controls/view_link";
import { DeclaredTable } from "../../components/data_table/declared";
import { Skeleton, ViewAnswer } from "../../components/states/answered";
import { Panel } from "../../components/states/panel";

import { Hero } from "../../components/text/hero";
import { Paragraph, Prose } from "../../components/text/prose";
import compileCss from "./compile.css?inline";

adoptStyles(compileCss);

/** A text that leads to its place in the Trace view, where there is one. */
function Placed({ text, link }: { readonly text: string; readonly link: Reference | null }) {
  return link === null ? (
    harmless(text)
  ) : (
    <ViewLink stem={link.view} params={link.params}>
      {harmless(text)}
    </ViewLink>
  );
}

export default function CompileView() {
  return (
    <ViewAnswer stem="compile" query={{}} waiting={<Skeleton heights={[48, 320, 240]} />}>
      {(answer, isOld) => (
        <div className={isOld ? "compile stack stale" : "compile stack"}>
          <Hero headline={answer.headline} detail={answer.detail} />
          <Panel title="Compiled functions" hint="a row for each version" isOld={isOld}>
            {answer.versions.length > 0 && (
              <div className="scroll">
                <DeclaredTable
                  label="the functions"
                  heads={answer.versions_columns}
                  rows={answer.versions}
                  keyOf={({ id }) => id}
                  cells={{ id: ({ id, link }) => <Placed text={id} link={link} /> }}
                />
              </div>
            )}
            <Paragraph text={answer.missing} className="dim" />
          </Panel>
          {answer.breaks.length > 0 && (
            <Panel
              title="Graph breaks"
              hint="cost is an estimate; lost fusion is not counted"
              isOld={isOld}
            >
              <DeclaredTable
                label="the breaks"
                heads={answer.breaks_columns}
                rows={answer.breaks}
                keyOf={({ place, reason }) => `${place} ${reason}`}
                cells={{
                  place: ({ place, link }) => <Placed text={place} link={link} />,
                  hint: ({ hint }) => (hint === null ? null : <Prose text={hint} />),
                }}
              />
            </Panel>
          )}
          {answer.eager.length > 0 && (
            <Panel title="Eager remainder" hint="ops outside of compiled graphs" isOld={isOld}>
              <DeclaredTable
                label="the ops"
                heads={answer.eager_columns}
                rows={answer.eager}
                keyOf={({ name }) => name}
              />
            </Panel>
          )}
          {answer.lines.length > 0 && (
            <Panel
              title="Fused kernels by line"
              hint="a kernel's time is split evenly over its lines"
              isOld={isOld}
            >
              <DeclaredTable
                label="the lines"
                heads={answer.lines_columns}
                rows={answer.lines}
                keyOf={({ place }) => place}
              />
            </Panel>
          )}
          {(answer.kernels.length > 0 || answer.no_lines !== "") && (
            <Panel title="Fused kernels" hint="the longest first" isOld={isOld}>
              {answer.kernels.length > 0 && (
                <DeclaredTable
                  label="the kernels"
                  heads={answer.kernels_columns}
                  rows={answer.kernels}
                  keyOf={({ kernel, version, direction, lines }) =>
                    `${kernel} ${version} ${direction} ${lines}`
                  }
                />
              )}
              <Paragraph text={answer.no_lines} className="dim" />
            </Panel>
          )}
        </div>
      )}
    </ViewAnswer>
  );
}
