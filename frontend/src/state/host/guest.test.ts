import { expect, it, vi } from "vitest";
import { onDataReloaded } from "./guest";

/** The side of TensorBoard: the port it was handed, and what came back over it. */
function host() {
  const answers: unknown[] = [];
  let port: MessagePort | undefined;
  const parent = {
    postMessage: vi.fn((_message: string, _origin: string, ports: MessagePort[]) => {
      port = ports[0];
      port?.addEventListener("message", (event) => {
        answers.push(JSON.parse(String(event.data)));
      });
      port?.start();
    }),
  };
  return { parent, answers, send: (text: unknown) => port?.postMessage(text) };
}

const message = (type: string, isReply = false) =>
  JSON.stringify({ type, id: 7, payload: null, error: null, isReply });

it("opens a channel, calls back on reload only, and replies to all", async () => {
  const { parent, answers, send } = host();
  const reloaded = vi.fn();
  // Only what the page uses of a window is there.
  onDataReloaded(parent as unknown as Window, reloaded);
  expect(parent.postMessage).toHaveBeenCalledWith("experimental.bootstrap", "*", [
    expect.anything(),
  ]);
  send(message("experimental.RunsChanged"));
  send(message("experimental.DataReloaded"));
  send(message("experimental.DataReloaded", true));
  send("no json");
  send({ type: "experimental.DataReloaded" });
  await vi.waitFor(() => expect(answers).toHaveLength(2));
  expect(reloaded).toHaveBeenCalledTimes(1);
  expect(answers[1]).toEqual({
    type: "experimental.DataReloaded",
    id: 7,
    payload: null,
    error: null,
    isReply: true,
  });
});
