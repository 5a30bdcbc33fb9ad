/** The type of every aggregate's logic: pure functions from a command and a state to events, and from events to a state. */

/**
 * `decide` returns what happened or throws a refusal of the catalogue (`errors.ts`); time, ids and parsed facts come in with
 * the command. `evolve` never refuses.
 */
export type Decider<Command, Event, State> = {
  readonly initial: State;
  decide(command: Command, state: State): readonly Event[];
  evolve(state: State, event: Event): State;
};

/** The state after a sequence of events. */
export const fold = <Command, Event, State>(
  decider: Decider<Command, Event, State>,
  events: Iterable<Event>,
  from: State = decider.initial,
): State => {
  let state = from;
  for (const event of events) state = decider.evolve(state, event);
  return state;
};
