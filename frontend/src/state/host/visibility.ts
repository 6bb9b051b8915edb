/** Whether anybody can see the page. TensorBoard hides a frame by giving it no height. */
import { useSyncExternalStore } from "react";

function subscribe(listener: () => void): () => void {
  document.addEventListener("visibilitychange", listener);
  window.addEventListener("resize", listener);
  return () => {
    document.removeEventListener("visibilitychange", listener);
    window.removeEventListener("resize", listener);
  };
}

const isVisible = () => document.visibilityState !== "hidden" && window.innerHeight > 0;

export function usePageVisible(): boolean {
  return useSyncExternalStore(subscribe, isVisible);
}
