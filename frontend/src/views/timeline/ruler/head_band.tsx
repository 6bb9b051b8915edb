/** The head of a recording, hatched: the device was on work launched before, so nothing is judged. */
import { time } from "../../../base/text/format";
import { fillClass } from "../../../components/charts/category";
import { useTimelineContext } from "../state/context";
import { around, Band } from "./band";

export function HeadBand() {
  const { sources, actions } = useTimelineContext();
  const [source] = sources;
  const { head_ns } = source.manifest;
  return head_ns === 0 ? null : (
    <>
      <span className="tl-head-title">Head</span>
      <Band
        pieces={[{ ts: 0, dur_ns: head_ns }]}
        classOf={() => fillClass("other", true)}
        wordsOf={({ dur_ns }) =>
          `Not judged, ${time(dur_ns)}\nthe device was on work launched before the recording`
        }
        onPress={(piece) => actions.show(around(piece, source.offset))}
      />
    </>
  );
}
