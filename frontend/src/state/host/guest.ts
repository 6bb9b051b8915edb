/**
 * What TensorBoard tells the frames of its plugins: a message channel that the guest opens, and JSON
 * texts over it. Only the reload button interests us.
 */

interface Message {
  readonly type: string;
  readonly id: number;
  readonly isReply: boolean;
}

const RELOADED = "experimental.DataReloaded";

function parse(text: unknown): Message | null {
  if (typeof text !== "string") {
    return null;
  }
  try {
    const message: unknown = JSON.parse(text);
    return typeof message === "object" && message !== null && "type" in message
      ? (message as Message)
      : null;
  } catch {
    return null;
  }
}

/** Calls back whenever the user or the timer of TensorBoard reloads its data. */
export function onDataReloaded(parent: Window, reloaded: () => void): void {
  const channel = new MessageChannel();
  channel.port1.onmessage = ({ data }: MessageEvent<unknown>) => {
    const message = parse(data);
    if (message === null || message.isReply) {
      return;
    }
    const { type, id } = message;
    channel.port1.postMessage(
      JSON.stringify({ type, id, payload: null, error: null, isReply: true }),
    );
    if (type === RELOADED) {
      reloaded();
    }
  };
  parent.postMessage("experimental.bootstrap", "*", [channel.port2]);
}
