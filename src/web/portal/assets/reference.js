/** Starts Scalar without its own fonts, proxy, telemetry, assistant and links. The frame supplies the search and the colours. */
const darkScheme = matchMedia('(prefers-color-scheme: dark)')

const hiddenLanguages = [
  'c',
  'clojure',
  'csharp',
  'dart',
  'fsharp',
  'go',
  'http',
  'java',
  'julia',
  'kotlin',
  'node',
  'objc',
  'ocaml',
  'php',
  'powershell',
  'r',
  'ruby',
  'rust',
  'swift',
]

/** The clients that are not shown, by language; `true`: all of them. */
const hiddenClients = {
  ...Object.fromEntries(hiddenLanguages.map(language => [language, true])),
  js: ['axios', 'jquery', 'ofetch', 'xhr'],
  python: ['python3', 'aiohttp', 'httpx_sync', 'httpx_async'],
  shell: ['httpie', 'wget'],
}

/** If no token was entered, Scalar sends an empty one, which would take precedence over the session's cookie. */
const sendWithoutEmptyToken = (input, init) => {
  const request = new Request(input, init)
  if (/^Bearer\s*$/.test(request.headers.get('authorization') ?? '')) request.headers.delete('authorization')
  return fetch(request)
}

const { src } = document.currentScript

const configuration = () => ({
  url: new URL('../openapi.json', src).href,
  theme: 'none',
  withDefaultFonts: false,
  telemetry: false,
  proxyUrl: '',
  customFetch: sendWithoutEmptyToken,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
  hideSearch: true,
  hideDarkModeToggle: true,
  forceDarkModeState: darkScheme.matches ? 'dark' : 'light',
  documentDownloadType: 'json',
  hideModels: true,
  authentication: { preferredSecurityScheme: 'bearer' },
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
  featuredClients: ['shell/curl', 'js/fetch', 'python/requests'],
  hiddenClients,
  generateTagSlug: ({ name }) => name,
  generateOperationSlug: ({ operationId }) => operationId,
})

const reference = globalThis.Scalar.createApiReference('#content', configuration())
darkScheme.addEventListener('change', () => reference.updateConfiguration(configuration()))

/** Scalar gives all example responses the same name. Screen readers list them by name, so each gets its own. */
function nameResponses() {
  for (const card of document.querySelectorAll('.response-card:not([data-named])')) {
    const title = card.closest('section')?.querySelector('h2, h3')?.textContent?.trim()
    card.dataset.named = ''
    if (!title) continue
    card.removeAttribute('aria-labelledby')
    card.setAttribute('aria-label', `${card.getAttribute('aria-label')}: ${title}`)
  }
}

new MutationObserver(nameResponses).observe(document.querySelector('#content'), {
  childList: true,
  subtree: true,
})
