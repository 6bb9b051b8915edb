/** Small helpers around time. */
import { useEffect, useState } from "react";

/** True once `flag` has been true for so long: what is quick shows nothing. */
export function useLasting(flag: boolean, ms = 150): boolean {
  const [lasting, setLasting] = useState(false);
  useEffect(() => {
    if (!flag) {
      setLasting(false);
      return;
    }
    const timer = setTimeout(() => setLasting(true), ms);
    return () => clearTimeout(timer);
  }, [flag, ms]);
  return flag && lasting;
}

/** The present, in seconds since the epoch, renewed every second while mounted. */
export function useNow(): number {
  const [now, setNow] = useState(() => Date.now() / 1000);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now() / 1000), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** The value once it has not changed for so long. */
export function useSettled<T>(value: T, ms = 200): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}
