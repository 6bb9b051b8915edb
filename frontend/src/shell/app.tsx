/** The page: asks the server who it is and what it has, then shows the frame. */
import { QueryClientProvider } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { toProblem } from "../api/problem";
import { type Environment, EnvironmentContext, useEnvironment } from "../state/host/environment";
import { onDataReloaded } from "../state/host/guest";
import { askAgain } from "../state/parts";
import { openQueryClient, useCatalog, useCatalogActions, useInfo } from "../state/queries";
import { useLasting } from "../state/timing";
import { LostBanner, OtherProgramBanner } from "./banners";
import { Frame } from "./frame";
import { StateTrouble } from "./states/other";

function useHostReload(): void {
  const { host } = useEnvironment();
  const { look } = useCatalogActions();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the channel is opened once
  useEffect(() => {
    if (host.hasParent) {
      onDataReloaded(host.window, look);
    }
  }, [host]);
}

function Start() {
  const isSlow = useLasting(true, 600);
  return <div className="start dim">{isSlow ? "Asking the server…" : null}</div>;
}

function Content() {
  const info = useInfo();
  const catalog = useCatalog();
  useHostReload();
  const error = info.error ?? catalog.error;
  const again = () => {
    askAgain(info.refetch);
    askAgain(catalog.refetch);
  };
  if (info.data === undefined || catalog.data === undefined) {
    return error === null ? (
      <Start />
    ) : (
      <main className="main">
        <StateTrouble error={error} again={again} />
      </main>
    );
  }
  const problem = catalog.error === null ? null : toProblem(catalog.error);
  return (
    <>
      {problem?.isLost ? <LostBanner isRetrying={catalog.isFetching} onRetry={again} /> : null}
      {problem?.isOtherProgram ? <OtherProgramBanner problem={problem} /> : null}
      <Frame info={info.data} catalog={catalog.data} />
    </>
  );
}

export function App({ environment }: { environment: Environment }) {
  const [client] = useState(openQueryClient);
  return (
    <EnvironmentContext value={environment}>
      <QueryClientProvider client={client}>
        <div className="app">
          <Content />
        </div>
      </QueryClientProvider>
    </EnvironmentContext>
  );
}
