/** Labels: what is said about an object beside its document, such as who looks after it; part of its events, never of what runs. */

/** `owner`: the set of declarative files that the object belongs to. */
export type Labels = { readonly owner?: string };

/** On a command. Absent: as they were; without members: none from now on. */
export type Labelled = { readonly labels?: Labels };

export const sameLabels = (a: Labels | undefined, b: Labels | undefined): boolean => a?.owner === b?.owner;

/** As a member of an event: absent when there are none. */
export const labelled = (labels: Labels | undefined): Labelled => (labels?.owner === undefined ? {} : { labels });
