/** What rows of routes about one object have in common: its path, its parameters, and the errors that follow from them. */
import type { Json } from '../../domain/event.ts';
import type { ErrorCode } from './errors.ts';
import { at, ifMatch, ifNoneMatch, minRevision, queryParameter, writeParameters } from './parameters.ts';
import type { Parameter, Route, RouteBody } from './route.ts';

type Row = Pick<Route, 'operationId' | 'summary' | 'tag' | 'form' | 'path' | 'scope' | 'answer' | 'handle'> & {
  readonly errors: readonly ErrorCode[];
  /** Beside those that every such row has. */
  readonly parameters?: readonly Parameter[];
};

/** Now or at a time, with its tag. */
export const readRow = ({ parameters = [], errors, ...row }: Row): Route => ({
  ...row,
  method: 'GET',
  parameters: [...parameters, at, minRevision, ifNoneMatch],
  errors: ['at_invalid', 'id_invalid', ...errors, 'revision_not_reached'],
});

/** A change of the object, on condition that it is the one that the client knows. */
export const changeRow = ({
  parameters = [],
  errors,
  ...row
}: Row & Pick<Route, 'method'> & Partial<Pick<Route, 'body'>>): Route => ({
  ...row,
  parameters: [...parameters, ...writeParameters, ifMatch],
  errors: [...new Set<ErrorCode>([...errors, 'id_invalid', 'precondition_failed'])],
});

/** Of a PATCH: any document, whose members say what is to be different. */
export const changesBody = (types: readonly string[], maxBytes: number, example: Json): RouteBody => ({
  ...{ types, maxBytes, description: 'What is to be different', example },
});

/** Of the end of an object that others name. */
export const forced = (description: string): Parameter => queryParameter('force', description, { type: 'boolean' });
