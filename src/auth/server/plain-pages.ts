/** The pages of the protocol at their plainest: what is shown where no others are given. */
import type { ProtocolPages } from './server.ts'

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, character => entities[character] ?? '')
}

function page(title: string, content: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escaped(title)}</title></head><body><main><h1>${escaped(title)}</h1>${content}</main></body></html>`
}

function form(action: string, hidden: Readonly<Record<string, string>>, content: string): string {
  const fields = Object.entries(hidden).map(
    ([name, value]) => `<input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`,
  )
  return `<form method="post" action="${escaped(action)}">${fields.join('')}${content}</form>`
}

export const plainPages: ProtocolPages = {
  error: ({ error, description }) =>
    page('This did not work', `<p>${escaped(description ?? '')}</p><p><code>${escaped(error)}</code></p>`),
  deviceCode: ({ action, hidden, entered, fault }) =>
    page(
      'Connect a device',
      (fault === undefined ? '' : `<p role="alert">${escaped(fault)}</p>`) +
        form(
          action,
          hidden,
          `<label>Code <input name="user_code" required value="${escaped(entered ?? '')}"></label><button>Continue</button>`,
        ),
    ),
  deviceConfirm: ({ action, hidden, app, userCode }) =>
    page(
      `Connect ${app.name}`,
      `<p>Does your device show <strong>${escaped(userCode)}</strong>?</p>` +
        form(action, hidden, '<button>Yes</button><button name="abort" value="yes">No</button>'),
    ),
  deviceDone: ({ app }) => page('Connected', `<p>${escaped(app.name)} goes on at your device.</p>`),
  signOut: ({ action, hidden }) =>
    page('Sign out', form(action, hidden, '<button name="logout" value="yes">Sign out</button>')),
  signedOut: () => page('Signed out', '<p>You are signed out.</p>'),
}
