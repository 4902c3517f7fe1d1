// Buttons for actions, and the dialog that asks before anything is done.

import { useEffect, useState } from "preact/hooks";
import type { Action, Step } from "../api/actions";
import { may } from "../api/request";
import { Command, Dialog } from "./parts";
import { plain } from "./text";

export function Actions({ actions, of }: { actions: Action[]; of: string }) {
  const [open, set] = useState<Action | null>(null);
  const [allowed, allow] = useState<Record<string, boolean>>({});
  const rights = actions.map((a) => `${a.id} ${JSON.stringify(a.right)}`).join();
  useEffect(() => {
    let gone = false;
    for (const action of actions) {
      void may(action.right).then((yes) => {
        if (!gone) allow((all) => ({ ...all, [action.id]: yes }));
      });
    }
    return () => {
      gone = true;
    };
  }, [rights]);
  return (
    <div class="actions" role="group" aria-label={`Actions for ${plain(of)}`}>
      {actions.map((action) => {
        const no = allowed[action.id] === false;
        const r = action.right;
        return (
          <button key={action.id} type="button" data-action={action.id} aria-disabled={no || allowed[action.id] === undefined}
            title={no ? `You may not ${r.verb} ${r.resource}${r.subresource ? `/${r.subresource}` : ""}` : undefined}
            onClick={() => allowed[action.id] && set(action)}>{action.label}</button>
        );
      })}
      {open && <Confirm action={open} close={() => set(null)} />}
    </div>
  );
}

function Confirm({ action, close }: { action: Action; close: () => void }) {
  const [values, setValues] = useState<Record<string, string>>(
    Object.fromEntries((action.fields ?? []).map((f) => [f.name, f.value])));
  const [steps, setSteps] = useState<Step[]>([]);
  const [state, setState] = useState<"ask" | "rehearsing" | "ready" | "doing" | "done" | "failed">(
    action.rehearse ? "rehearsing" : "ask");
  const [told, tell] = useState("");
  const [stopped] = useState({ yes: false });
  useEffect(() => {
    if (action.rehearse) {
      action.rehearse(setSteps).then(
        (goes) => {
          setState(goes ? "ready" : "failed");
          if (!goes) tell("Some pod blocks it. Nothing was changed.");
        },
        (error: Error) => {
          setState("failed");
          tell(error.message);
        });
    }
    return () => {
      stopped.yes = true;
    };
  }, []);
  const input = (name: string) => (e: preact.TargetedInputEvent<HTMLInputElement>) =>
    setValues({ ...values, [name]: e.currentTarget.value });
  const run = async () => {
    setState("doing");
    setSteps([]);
    try {
      tell(await action.run(values, setSteps, () => stopped.yes));
      setState("done");
    } catch (error) {
      tell((error as Error).message);
      setState("failed");
    }
  };
  return (
    <Dialog title={action.title} close={close}>
      <form onSubmit={(e) => { e.preventDefault(); void run(); }}>
        <p>{plain(action.explain)}</p>
        {(action.fields ?? []).map((field) => (
          <label key={field.name} class="field">
            <span>{field.label}</span>
            {field.type === "number"
              ? <input type="number" min={field.min} value={values[field.name]} disabled={state !== "ask"} onInput={input(field.name)} />
              : <input type="text" value={values[field.name]} disabled={state !== "ask"} onInput={input(field.name)} />}
          </label>
        ))}
        {action.rehearse && state !== "doing" && state !== "done" && (
          <h3>{state === "rehearsing" ? "Dry run…" : "Dry run: nothing was changed"}</h3>
        )}
        {steps.length > 0 && (
          <ul class="steps" tabIndex={0} aria-label="Steps">
            {steps.map((step) => <li key={step.text} class={`step-${step.state}`}>{plain(step.text)}</li>)}
          </ul>
        )}
        {state === "ready" && steps.length === 0 && <p class="dim">No pod runs there.</p>}
        <p class="same">The same on the command line</p>
        <Command text={action.command(values)} />
        {told && <p class={`told told-${state}`} role="status">{plain(told)}</p>}
        <div class="dialog-end">
          {state === "done" || state === "failed"
            ? <button type="button" class="primary" onClick={close}>Close</button>
            : <>
              <button type="button" onClick={close}>{state === "doing" ? "Stop" : "Cancel"}</button>
              <button type="submit" class={action.danger ? "danger" : "primary"}
                disabled={state === "rehearsing" || state === "doing"}>{action.label}</button>
            </>}
        </div>
      </form>
    </Dialog>
  );
}
