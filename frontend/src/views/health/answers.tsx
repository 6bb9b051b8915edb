/** Which questions this recording answers, by what it has and lacks. */
import type { Answerable } from "../../api/types.gen";
import { Panel } from "../../components/panel";
import { Prose } from "../../components/prose";

const SIGNS: Readonly<Record<Answerable["answer"], readonly [string, string]>> = {
  yes: ["yes", "●"],
  "in part": ["part", "◐"],
  no: ["no", "○"],
};

export function Answers({ answers, isOld }: { answers: readonly Answerable[]; isOld: boolean }) {
  return (
    <Panel title="What this recording answers" isOld={isOld} hasBody={false}>
      <div className="scroll">
        <table className="answers">
          <thead>
            <tr>
              <th>Question</th>
              <th>has</th>
              <th>lacks</th>
              <th>answer</th>
            </tr>
          </thead>
          <tbody>
            {answers.map(({ question, has, lacks, answer }) => {
              const [className, sign] = SIGNS[answer];
              return (
                <tr key={question}>
                  <th scope="row">{question}</th>
                  <td className="dim">
                    <Prose text={has} />
                  </td>
                  <td className="dim">
                    <Prose text={lacks} />
                  </td>
                  <td className={className}>
                    <span aria-hidden="true">{sign}</span> {answer}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}
