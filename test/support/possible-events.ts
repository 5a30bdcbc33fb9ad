/** Of random events those that the domain could have decided: an API is made before it is changed, and by one owner. */
import type { DomainEvent } from '../../domain/events.ts';
import type { OrgId } from '../../domain/ids.ts';
import { streamOf } from './given.ts';

/** It belongs to whoever made it until it is deleted. Events of other kinds stay as they are. */
export function possibleEvents(events: readonly DomainEvent[]): readonly DomainEvent[] {
  const owners = new Map<string, OrgId>();
  return events.flatMap((event) => {
    if (!event.type.startsWith('Api')) return [event];
    const stream = streamOf(event);
    const owner = owners.get(stream);
    const isCreation = event.type === 'ApiDefinitionCreated';
    if (isCreation === (owner !== undefined)) return [];
    const orgId = owner ?? event.orgId;
    if (event.type === 'ApiDefinitionDeleted') owners.delete(stream);
    else owners.set(stream, orgId);
    return [{ ...event, orgId } as DomainEvent];
  });
}
