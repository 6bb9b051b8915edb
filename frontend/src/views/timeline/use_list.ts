/** A list that stays the same object as long as its members are the same. */
import { useState } from "react";

export function useList<T>(list: readonly T[]): readonly T[] {
  const [kept, setKept] = useState(list);
  const isSame = kept.length === list.length && kept.every((item, place) => item === list[place]);
  if (!isSame) {
    setKept(list);
  }
  return isSame ? kept : list;
}
