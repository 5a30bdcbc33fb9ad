/** Templates that show what each function does, with what they print. */

export const functionRows: readonly (readonly [template: string, text: string])[] = [
  // Those of Go itself: more of them in `template-rows.ts`.
  [
    '{{ and 1 0 }}{{ or 0 2 }}{{ not 1 }}{{ eq 1 1 }}{{ ne 1 1 }}{{ lt 1 2 }}{{ le 2 2 }}{{ gt 1 2 }}{{ ge 2 2 }}',
    '02falsetruefalsetruetruefalsetrue',
  ],
  ['{{ len .list }} {{ index .list 1 }} {{ slice .name 4 }} {{ print 1 2 }} {{ println 1 }}', '5 a Bee 1 2 1\n'],
  ['{{ printf "%03d" 7 }} {{ html "<" }} {{ js "\'" }} {{ urlquery "a b" }}', "007 &lt; \\' a+b"],
  // Text.
  [
    '{{ trim "  a b\\n" }}|{{ trimAll "$x" "$xa$b$" }}|{{ trimPrefix "-" "-a-" }}|{{ trimSuffix "-" "-a-" }}',
    'a b|a$b|a-|-a',
  ],
  ['{{ upper "aé" }} {{ lower "AÉ" }} {{ title "ann bee" }} {{ untitle "Ann Bee" }}', 'AÉ aé Ann Bee ann bee'],
  ['{{ repeat 3 "ab" }}|{{ repeat 0 "ab" }}|{{ repeat -1 "ab" }}', 'ababab||'],
  [
    '{{ substr 0 3 "abcdef" }} {{ substr 2 -1 "abcdef" }} {{ substr -1 2 "abcdef" }} {{ substr 1 99 "héé" }}',
    'abc cdef ab éé',
  ],
  ['{{ nospace "a b\\tc" }} {{ trunc 3 "abcdef" }} {{ trunc -2 "abcdef" }} {{ trunc 9 "ab" }}', 'abc abc ef ab'],
  [
    '{{ abbrev 5 "hello world" }} {{ abbrev 3 "hello" }} {{ abbrev 9 "hello" }} {{ initials "Ann Bee" }}',
    'he... hello hello AB',
  ],
  ['{{ contains "nn" .name }} {{ hasPrefix "Ann" .name }} {{ hasSuffix "Ann" .name }}', 'true true false'],
  ['{{ quote "a\\"b" 1 nil }} {{ squote "a" 1 }} {{ cat "a" nil 1 }}', '"a\\"b" "1" \'a\' \'1\' a 1'],
  ['{{ indent 2 "a\\nb" }}|{{ nindent 1 "a" }}', '  a\n  b|\n a'],
  [
    '{{ replace "n" "NN" .name }} {{ replace "$" "$&" "a$" }} {{ plural "one" "many" 1 }} {{ plural "one" "many" 2 }}',
    'ANNNN Bee a$& one many',
  ],
  [
    '{{ snakecase "FirstName" }} {{ snakecase "a-b c" }} {{ camelcase "http_server" }} {{ kebabcase "FirstName" }}',
    'first_name a_b_c HttpServer first-name',
  ],
  ['{{ wrap 5 "aa bbb cccccccc d" }}', 'aa\nbbb\ncccccccc\nd'],
  ['{{ wrapWith 5 "|" "aa bbb cccccccc d" }}', 'aa|bbb|ccccc|ccc d'],
  [
    '{{ $p := split "," "a,b" }}{{ $p._0 }}{{ $p._1 }} {{ splitList "," "a,b" }} {{ $n := splitn "," 2 "a,b,c" }}{{ $n._1 }}',
    'ab [a b] b,c',
  ],
  [
    '{{ join "-" .list }} {{ join "-" "a" }} {{ sortAlpha .list }} {{ toString 1.5 }} {{ toStrings (list 1 true) }}',
    'b-a-b- a [ a b b] 1.5 [1 true]',
  ],
  [
    '{{ regexMatch "^A.+e$" .name }} {{ regexFind "[a-z]+" .name }} {{ regexFind "x" .name }} {{ regexFindAll "[a-z]" .name 2 }} {{ regexFindAll "e" .name -1 }}',
    'true nn  [n n] [e e]',
  ],
  [
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a group by its name
    '{{ regexReplaceAll "(\\\\w)(?P<rest>\\\\w+)" .name "${rest}$1$$" }} {{ regexReplaceAllLiteral "e" .name "$1" }} {{ regexReplaceAll "x*" "abc" "-" }}',
    'nnA$ eeB$ Ann B$1$1 -a-b-c-',
  ],
  [
    '{{ regexSplit "[ ,]" "a,b c" -1 }} {{ regexSplit "," "a,b,c" 2 }} {{ regexSplit "" "abc" -1 }} {{ regexSplit "," "a" 0 }}',
    '[a b c] [a b,c] [a b c] []',
  ],
  // Numbers.
  [
    '{{ add 1 2 3 }} {{ add1 .count }} {{ sub 5 .count }} {{ mul 2 3 4 }} {{ div 7 2 }} {{ div -7 2 }} {{ mod 7 4 }} {{ mod -7 4 }}',
    '6 4 2 24 3 -3 3 -3',
  ],
  [
    '{{ max 1 5 3 }} {{ min 4 2 3 }} {{ floor 1.7 }} {{ ceil 1.2 }} {{ round 2.345 2 }} {{ round 2.5 0 }} {{ round -2.5 0 }} {{ round 2.31 1 0.05 }}',
    '5 2 1 2 2.35 3 -3 2.4',
  ],
  [
    '{{ int 3.9 }} {{ int "42" }} {{ int "x" }} {{ int64 true }} {{ float64 "1.5" }} {{ atoi "12" }} {{ atoi "1.5" }} {{ int nil }}',
    '3 42 0 1 1.5 12 0 0',
  ],
  ['{{ add 9223372036854775807 1 }}', '-9223372036854775808'],
  // Lists.
  [
    '{{ list 1 "a" }} {{ first .list }} {{ rest (list 1 2 3) }} {{ last (list 1 2) }} {{ initial (list 1 2) }} {{ first (list) }}',
    '[1 a] b [2 3] 2 [1] <no value>',
  ],
  [
    '{{ append (list 1) 2 }} {{ prepend (list 1) 0 }} {{ concat (list 1) (list 2 3) }} {{ reverse (list 1 2) }}',
    '[1 2] [0 1] [1 2 3] [2 1]',
  ],
  [
    '{{ uniq (list 1 "1" 1 (list 1) (list 1)) }} {{ without (list 1 2 3) 2 3 }} {{ has 2 (list 1 2) }} {{ has (list 1) (list (list 1)) }} {{ compact (list 0 1 "" 2) }}',
    '[1 1 [1]] [1] true true [1 2]',
  ],
  [
    '{{ until 3 }} {{ until -2 }} {{ untilStep 0 7 3 }} {{ untilStep 3 0 -2 }} {{ seq 3 }} {{ seq 2 4 }} {{ seq 0 2 5 }} {{ seq 3 1 }}',
    '[0 1 2] [0 -1] [0 3 6] [3 1] 1 2 3 2 3 4 0 2 4 3 2 1',
  ],
  // Maps.
  [
    '{{ dict "b" 1 "a" }} {{ get .map "b" }}{{ get .map "zz" }} {{ set (dict) "k" 1 }} {{ unset (dict "a" 1 "b" 2) "a" }}',
    'map[a: b:1] 2 map[k:1] map[b:2]',
  ],
  [
    '{{ hasKey .map "a" }} {{ pluck "a" (dict "a" 1) (dict "b" 2) (dict "a" 3) }} {{ keys .map (dict "c" 1) }} {{ values (dict "b" 2 "a" 1) }}',
    'true [1 3] [a b c] [1 2]',
  ],
  ['{{ pick (dict "a" 1 "b" 2) "a" "z" }} {{ omit (dict "a" 1 "b" 2) "a" }}', 'map[a:1] map[b:2]'],
  ['{{ merge (dict "a" 1 "n" (dict "x" 1)) (dict "a" 2 "b" 3 "n" (dict "y" 2)) }}', 'map[a:1 b:3 n:map[x:1 y:2]]'],
  ['{{ mergeOverwrite (dict "a" 1 "n" (dict "x" 1)) (dict "a" 2 "n" (dict "x" 2)) }}', 'map[a:2 n:map[x:2]]'],
  ['{{ dig "a" "x" 0 .map }} {{ dig "a" "z" "none" .map }} {{ dig "b" "z" "none" .map }}', '1 none none'],
  ['{{ $a := dict "l" (dict "x" 1) }}{{ $b := deepCopy $a }}{{ $_ := set $b.l "x" 2 }}{{ $a.l.x }}{{ $b.l.x }}', '12'],
  // Choices and kinds.
  [
    '{{ default "d" "" }}{{ default "d" "v" }}{{ .missing | default "d" }} {{ empty 0 }} {{ coalesce 0 "" "x" }} {{ coalesce 0 }} {{ ternary "y" "n" true }}{{ false | ternary "y" "n" }}',
    'dvd true x <no value> yn',
  ],
  ['{{ all 1 "a" }} {{ all 1 0 }} {{ any 0 1 }} {{ any }}', 'true false true false'],
  [
    '{{ kindOf 1 }} {{ kindOf .count }} {{ kindOf .list }} {{ kindOf .map }} {{ kindOf nil }} {{ kindIs "string" .name }} {{ typeOf .list }} {{ typeOf now }}',
    'int float64 slice map invalid true []interface {} time.Time',
  ],
  // Other forms.
  [
    '{{ b64enc "héé" }} {{ b64dec "aMOpw6k=" }} {{ b32enc "hello" }} {{ b32dec "NBSWY3DP" }} {{ b32enc "a" }} {{ b32dec "ME======" }}',
    'aMOpw6k= héé NBSWY3DP hello ME====== a',
  ],
  [
    '{{ toJson .map }} {{ jsonMarshal (list "<" 1.5 nil true) }} {{ (fromJson "{\\"a\\":[1]}").a }}',
    '{"a":{"x":1},"b":2} ["\\u003c",1.5,null,true] [1]',
  ],
  ['{{ toPrettyJson (dict "a" (list 1 (dict)) "b" (list)) }}', '{\n  "a": [\n    1,\n    {}\n  ],\n  "b": []\n}'],
  [
    '{{ xmlMarshal (dict "a" (dict "-id" "1\\"" "#text" "x<y")) }} {{ xmlMarshal (dict "l" (list 1 2) "e" "") }}',
    '<a id="1&quot;">x&lt;y</a> <doc><e/><l>1</l><l>2</l></doc>',
  ],
  ['{{ md5sum "a" }}', '0cc175b9c0f1b6a831c399e269772661'],
  ['{{ sha1sum "a" }}', '86f7e437faa5a7fce15d1ddcb9eaeaea377667b8'],
  ['{{ sha256sum "a" }}', 'ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb'],
  ['{{ sha512sum "a" | trunc 16 }} {{ len uuidv4 }}', '1f40fc92da241694 36'],
  // Dates.
  [
    '{{ date "2006-01-02 15:04:05" now }} {{ now | date "Mon, 2 Jan 06 3:04PM .000 MST -0700 Z07:00" }}',
    '2026-03-04 05:06:07 Wed, 4 Mar 26 5:06AM .089 UTC +0000 Z',
  ],
  [
    '{{ date "Monday January _2 002 03:4:5 pm .999" now }} {{ date "02/01/2006" 0 }} {{ date "15:04" .when }}',
    'Wednesday March  4 063 05:6:7 am .089 01/01/1970 03:04',
  ],
  [
    '{{ dateInZone "2006-01-02 15:04 MST -07:00" now "America/New_York" }} {{ dateInZone "15:04" now "nowhere" }}',
    '2026-03-04 00:06 EST -05:00 05:06',
  ],
  [
    '{{ dateModify "-1h30m" now | date "15:04:05" }} {{ dateModify "x" now | unixEpoch }} {{ duration 3725 }} {{ duration "95" }} {{ duration 5 }}',
    '03:36:07 1772600767 1h2m5s 1m35s 5s',
  ],
  [
    '{{ toDate "2006-01-02" "2024-02-29" | date "Jan 2" }} {{ unixEpoch (toDate "2006-01-02T15:04:05Z07:00" .when) }} {{ now }}',
    'Feb 29 1767315845 2026-03-04 05:06:07.089 +0000 UTC',
  ],
  // Addresses.
  [
    '{{ $u := urlParse "https://u:p@h.example:8080/a/b?x=1#f" }}{{ $u.scheme }} {{ $u.host }} {{ $u.hostname }} {{ $u.path }} {{ $u.query }} {{ $u.fragment }} {{ $u.userinfo }}',
    'https h.example:8080 h.example /a/b x=1 f u:p',
  ],
  [
    '{{ urlJoin (dict "scheme" "http" "host" "h" "path" "a" "query" "q" "fragment" "f") }} {{ urlJoin (urlParse "mailto:a@b") }}',
    'http://h/a?q#f mailto:a@b',
  ],
];
