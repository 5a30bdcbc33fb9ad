/** The table of rules on a definition beyond its schema: what does not fit together, and what this version cannot give. */
import type { Problem, Warning } from '../errors.ts';
import type { JsonObject } from '../event.ts';
import type { ApiDocument } from './definition.ts';
import { authenticationWarnings, checksAuthentication } from './rules/authentication.ts';
import { checksBodyTemplates } from './rules/body-template.ts';
import { cacheWarnings } from './rules/cache.ts';
import { documentRuleProblems } from './rules/document.ts';
import { effectWarnings, refusesWhatIsNotOffered } from './rules/effects.ts';
import { checksEvents, eventWarnings } from './rules/events.ts';
import { checksCors, checksHeaders } from './rules/headers.ts';
import { checksOperations, operationWarnings } from './rules/operations.ts';
import { checksPlugins, pluginWarnings } from './rules/plugins.ts';
import type { Rule, RuleContext } from './rules/rule.ts';
import {
  checksCertificateLists,
  checksDomain,
  checksExpiration,
  checksIpLists,
  checksListenPath,
  checksTags,
} from './rules/server.ts';
import { checksRates, checksTexts } from './rules/texts.ts';
import {
  checksAddresses,
  checksDomainPatterns,
  checksPins,
  checksTls,
  checksUpstream,
  checksUpstreamCredentials,
  checksWeights,
} from './rules/upstream.ts';
import { versioningProblems } from './versioning.ts';

/** In the order in which problems are told: what is wrong, before what is not offered (plugins design 3). */
const rules: readonly Rule[] = [
  checksListenPath,
  checksDomain,
  checksExpiration,
  versioningProblems,
  checksTags,
  checksIpLists,
  checksCertificateLists,
  checksAuthentication,
  checksEvents,
  checksBodyTemplates,
  checksUpstream,
  checksAddresses,
  checksWeights,
  checksTls,
  checksDomainPatterns,
  checksPins,
  checksUpstreamCredentials,
  checksPlugins,
  checksOperations,
  checksCors,
  checksHeaders,
  checksTexts,
  checksRates,
  refusesWhatIsNotOffered,
];

const maxProblems = 100;

/** The first hundred problems of a document whose shape is right. */
export function ruleProblems(extension: JsonObject, context: RuleContext): readonly Problem[] {
  const problems: Problem[] = [];
  for (const rule of [documentRule, ...rules]) {
    for (const problem of rule(extension, context)) {
      problems.push(problem);
      if (problems.length === maxProblems) return problems;
    }
  }
  return problems;
}

const documentRule: Rule = (_, { document }) => documentRuleProblems(document);

export const ruleWarnings = (extension: JsonObject, document: ApiDocument): readonly Warning[] => [
  ...effectWarnings(extension),
  ...authenticationWarnings(extension, document),
  ...pluginWarnings(extension),
  ...eventWarnings(extension),
  ...operationWarnings(document),
  ...cacheWarnings(extension, document),
];
