/** The names of all functions of templates: who only reads a template does not load what they do. */

/** A test holds them against the table. */
export const functionNames: ReadonlySet<string> = new Set(
  (
    'and or not eq ne lt le gt ge len index slice print println printf html js urlquery trim ' +
    'trimAll trimPrefix trimSuffix upper lower title untitle nospace initials snakecase ' +
    'camelcase kebabcase repeat substr trunc abbrev contains hasPrefix hasSuffix quote squote ' +
    'cat indent nindent replace plural wrap wrapWith split splitList splitn join sortAlpha ' +
    'toString toStrings regexMatch regexFind regexFindAll regexReplaceAll ' +
    'regexReplaceAllLiteral regexSplit add add1 sub mul div mod max min floor ceil round int ' +
    'int64 float64 atoi list first rest last initial reverse compact append prepend concat uniq ' +
    'without has until untilStep seq all any dict get set unset hasKey pluck keys values pick ' +
    'omit merge mergeOverwrite dig deepCopy now date dateInZone dateModify duration toDate ' +
    'unixEpoch default empty coalesce ternary kindOf kindIs typeOf b64enc b64dec b32enc b32dec ' +
    'toJson jsonMarshal toPrettyJson fromJson xmlMarshal md5sum sha1sum sha256sum sha512sum ' +
    'uuidv4 urlParse urlJoin'
  ).split(' '),
);
