/**
 * Letters that look like Latin ones, in the manner of UTS #39 (4, "skeleton"): no package on npm keeps its table in a usable
 * size. NFKD has already replaced what is only another form of a letter, such as full-width, circled and mathematical ones.
 */

/** Each character, followed by the Latin letter that it looks like. Capitals are listed where they look different. */
const pairs = [
  // Digits, and `l` for `i`.
  '0o1i3e4a5s7t8bli',
  // Small capitals and other letters of phonetic alphabets.
  'ᴀaʙbᴄcᴅdᴇeꜰfɢgʜhɪiᴊjᴋkʟiᴍmɴnᴏoᴘpꞯqʀrꜱsᴛtᴜuᴠvᴡwʏyᴢz',
  'ɑaɐaəeɛeɡgıiȷjɩiʞkɭiɱmɲnŋnɔoɵoɾrɼrʂsʃsʈtʇtʊuʋvʌvʍwʎyʐzƅbƍgƖiꙇiꞵb',
  // Letters with strokes, which have no decomposition.
  'øođdłiŧtħhƀbɇeȼcǥgɨiɉjꝁkƚiꝑpꝓpɍrʉuɏyƶzðdþp',
  // Greek.
  'αaβbγyεeζzηnιiκkμuνvοoρpσoτtυuχxωwΒbΕeΖzΗhΙiΚkΜmΝnΟoΡpΤtΥyΧxϲcϳjϜfϱp',
  // Cyrillic.
  'аaвbсcгrԁdеeєeһhнhіiӏiјjкkмmпnоoрpԛqѕsтtуyхxѵvԝwьbүyҽeԍgԌgЅsԚqԜwҮy',
  // Armenian, Hebrew and Arabic.
  'աwցgհhյjոnօoսuզqքfՏsՕoՍuԼiוiןiסoاiهo',
  // Cherokee.
  'ᎠdᎡrᎢtᎥiᎪaᎫjᎬeᎳwᎷmᎻhᎽyᏀgᏃzᏏbᏒrᏔwᏕsᏙvᏚsᏞiᏟcᏢpᏦkᏧdᏴb',
  // Lisu.
  'ꓐbꓑpꓓdꓔtꓖgꓗkꓙjꓚcꓜzꓝfꓟmꓠnꓡiꓢsꓣrꓦvꓧhꓪwꓫxꓬyꓮaꓰeꓲiꓳoꓴu',
  // Coptic.
  'ⲀaⲂbⲈeⲎhⲒiⲔkⲘmⲚnⲞoⲢpⲤcⲦtⲨyⲬxⲟoⲣpⲥc',
]

const table = new Map<string, string>()
for (const [, letter = '', latin = ''] of pairs.join('').matchAll(/(.)(.)/gsu)) table.set(letter, latin)
for (const [letter, latin] of [...table]) {
  const lower = letter.toLowerCase()
  if (!table.has(lower)) table.set(lower, latin)
}

/** The first letters of alphabets of symbols: negative circled and squared letters, and regional indicators. */
const alphabets = [0x1f150, 0x1f170, 0x1f1e6]
for (const first of alphabets)
  for (let index = 0; index < 26; index++)
    table.set(String.fromCodePoint(first + index), latinOf('abcdefghijklmnopqrstuvwxyz'[index] ?? ''))

/** The letter, or the one that stands for it and those that look like it. */
export function latinOf(letter: string): string {
  const lower = letter.toLowerCase()
  return table.get(letter) ?? table.get(lower) ?? lower
}
