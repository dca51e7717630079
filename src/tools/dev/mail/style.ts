/** The stylesheet of `/dev/mail`. */
export const style = `:root{color-scheme:light dark;--ground:#f6f7f9;--card:#fff;--text:#1f2328;--faint:#59626d;--line:#dfe3e8;--link:#1f5fbf}
@media (prefers-color-scheme:dark){:root{--ground:#0d0f12;--card:#14161a;--text:#eceef1;--faint:#a3abb5;--line:#30353c;--link:#7fb0f5}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--text);font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}
a{color:var(--link)}
header{display:flex;flex-wrap:wrap;gap:4px 20px;align-items:baseline;padding:14px 24px;background:var(--card);border-bottom:1px solid var(--line)}
header strong{font-size:16px}
header nav{display:flex;gap:16px}
header a{text-decoration:none;padding:2px 0}
header a[aria-current]{color:var(--text);box-shadow:0 2px 0 var(--link)}
main{max-width:1080px;margin:0 auto;padding:24px}
h1{margin:0 0 16px;font-size:24px;line-height:1.3;overflow-wrap:anywhere}
h2{margin:28px 0 12px;font-size:17px}
p{margin:0 0 12px}
.faint{color:var(--faint)}
.card{background:var(--card);border:1px solid var(--line);border-radius:10px}
.scroll{overflow-x:auto}
table{width:100%;border-collapse:collapse}
th,td{padding:10px 16px;text-align:start;vertical-align:top;border-top:1px solid var(--line)}
thead th{border-top:0;color:var(--faint);font-size:13px;font-weight:500}
tbody th{font-weight:500}
td.nowrap{white-space:nowrap}
.subject{font-weight:600;overflow-wrap:anywhere}
dl{display:grid;grid-template-columns:max-content 1fr;gap:6px 20px;margin:0 0 20px}
dt{color:var(--faint)}
dd{margin:0;overflow-wrap:anywhere}
.preview{height:720px;min-height:240px;max-width:100%;overflow:hidden;resize:both;padding:0}
iframe{display:block;width:100%;height:100%;border:0}
pre{margin:0;padding:16px;white-space:pre-wrap;overflow-wrap:anywhere;font:14px/1.55 ui-monospace,'SF Mono',Consolas,monospace}
nav.pager{display:flex;gap:20px;margin:0 0 16px}
/* In a narrow window, each row is a block of lines. */
@media (max-width:560px){
main{padding:16px}
.preview{height:560px}
thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
table,tbody,tr,tbody th,td{display:block}
tr{padding:10px 16px;border-top:1px solid var(--line)}
tbody tr:first-child{border-top:0}
tbody th,td{padding:2px 0;border-top:0}
}
`
