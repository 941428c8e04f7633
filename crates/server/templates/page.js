// The page's only script. What documents say is put in with textContent, never as markup.
"use strict";

const at = (id) => document.getElementById(id);
let language = navigator.language.startsWith("zh") ? "zh" : "en";
let after = 0;
let further;
let moreSources;
let storied = new Set();

const words = {
  documents: ["documents", "篇文档"], groups: ["groups", "个分组"], removed: ["followers in groups", "篇重复文档"], seq: ["last change", "最新变更号"],
  new: ["new", "新"], exact: ["a copy", "相同"], near: ["near-duplicate", "近似重复"], updated: ["known id", "已有的标识"],
  none: ["There is no collection yet. Make one: curl -X PUT -H X-Twinprint:1 http://…/v1/collections/NAME", "还没有集合。创建一个：curl -X PUT -H X-Twinprint:1 http://…/v1/collections/NAME"],
  of: ["of", "与"], bits: ["bits differ", "位不同"], jaccard: ["Jaccard", "Jaccard 相似度"], group: ["group", "组"], show: ["show", "展开"],
  ended: ["ended", "已结束"], members: ["its documents", "相关文档"], untitled: ["(without a title)", "（无标题）"],
  missed: ["near miss", "接近但不重复"], limited: ["more lay near than were compared", "附近还有未比较的文档"],
  weights: ["words that weigh differently", "权重不同的词"],
};
const say = (word) => words[word][language === "zh" ? 1 : 0];

function node(name, text, kind) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

function row(...cells) {
  const made = node("tr");
  for (const cell of cells) {
    const td = node("td", undefined, typeof cell === "number" ? "number" : "");
    td.append(typeof cell === "number" ? cell.toLocaleString(language) : cell);
    made.append(td);
  }
  return made;
}

function translate() {
  document.documentElement.lang = language;
  for (const element of document.querySelectorAll("[data-en]")) element.textContent = element.dataset[language];
}

function tell(problem) {
  at("problem").hidden = !problem;
  at("problem").textContent = problem || "";
}

async function call(path, body) {
  const headers = {};
  if (at("token").value) headers.Authorization = "Bearer " + at("token").value;
  if (body) headers["Content-Type"] = "application/json";
  const response = await fetch(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.detail || response.statusText);
  return answer;
}

const here = () => "/v1/collections/" + encodeURIComponent(at("collection").value);

async function guarded(work) {
  try {
    tell("");
    await work();
  } catch (error) {
    tell(error.message);
  }
}

async function collections() {
  const list = (await call("/v1/collections")).collections;
  storied = new Set(list.filter((collection) => collection.settings?.stories).map((collection) => collection.name));
  const chosen = at("collection").value || location.hash.slice(1);
  at("collection").replaceChildren(...list.map((collection) => {
    const option = node("option", collection.name);
    option.selected = collection.name === chosen;
    return option;
  }));
  if (list.length === 0) return tell(say("none"));
  await overview();
}

async function overview() {
  location.hash = at("collection").value;
  moreSources = undefined;
  at("sources").replaceChildren();
  const stats = await sources();
  const counts = [["documents", stats.documents], ["groups", stats.groups], ["removed", stats.documents - stats.groups], ["seq", stats.seq]];
  at("counts").replaceChildren(...counts.map(([word, value]) => {
    const made = node("div");
    made.append(node("b", value.toLocaleString(language)), say(word));
    return made;
  }));
  if (stats.refusal) tell(stats.refusal);
  after = 0;
  at("groups").replaceChildren();
  await groups();
  at("storied").hidden = !storied.has(at("collection").value);
  if (!at("storied").hidden) await storiesAnew();
}

async function sources() {
  const asked = new URLSearchParams({ limit: 50 });
  if (moreSources) asked.set("after", moreSources);
  const stats = await call(here() + "/stats?" + asked);
  at("sources").append(...stats.sources.map((s) => row(s.source, s.documents, s.new, s.exact, s.near)));
  moreSources = stats.next_after;
  at("more-sources").hidden = moreSources === undefined;
  return stats;
}

async function storiesAnew() {
  further = undefined;
  at("stories").replaceChildren();
  await stories();
}

async function stories() {
  const asked = new URLSearchParams({ min_size: at("least").value || 1, limit: 10 });
  if (at("state").value) asked.set("state", at("state").value);
  if (further) asked.set("after", further);
  const list = await call(here() + "/stories?" + asked);
  at("stories").append(...list.stories.map(story));
  further = list.next_after;
  at("further").hidden = further === undefined;
}

const day = (stamp) => stamp && new Date(stamp).toLocaleDateString(language, { dateStyle: "medium", timeZone: "UTC" });

function story(told) {
  const made = node("li");
  const head = node("h3", told.title || say("untitled"));
  const days = told.first && [...new Set([day(told.first), day(told.last)])].join(" – ");
  const facts = [`${told.size.toLocaleString(language)} ${say("documents")}`, days, told.ended && say("ended")];
  const topic = node("p", undefined, "topic");
  topic.append(...told.topic.map((term) => node("span", term.term)));
  const button = node("button", say("members"));
  button.type = "button";
  button.onclick = () => guarded(() => storyMembers(told.story_id, made, button));
  made.append(head, node("p", facts.filter(Boolean).join(" · "), "hint"), topic, button);
  return made;
}

async function storyMembers(id, place, button, from) {
  const part = await call(here() + `/stories/${id}?limit=50` + (from ? `&after=${from}` : ""));
  const list = node("ul");
  list.append(...part.members.map((member) => node("li", member.url ? `${member.id} · ${member.url}` : member.id)));
  button.remove();
  place.append(list);
  goOn(place, part.next_after, (more) => storyMembers(id, place, more, part.next_after));
}

// A button for the next part of a list, where there is one.
function goOn(place, next, work) {
  if (next === undefined) return;
  const more = node("button", at("more").dataset[language]);
  more.type = "button";
  more.onclick = () => guarded(() => work(more));
  place.append(more);
}

async function groups() {
  const list = await call(here() + `/groups?after=${after}&min_size=${at("size").value || 1}&limit=20`);
  for (const group of list.groups) {
    const button = node("button", say("show"));
    button.type = "button";
    button.onclick = () => guarded(() => members(group, button));
    at("groups").append(row(group.group_id, group.size, group.canonical.id, button));
  }
  after = list.next_after;
  at("more").hidden = after === undefined;
}

async function members(group, button) {
  const cell = node("td");
  cell.colSpan = 4;
  const below = node("tr");
  below.append(cell);
  await memberPart(group.group_id, cell);
  button.closest("tr").after(below);
  button.remove();
}

async function memberPart(id, place, button, from) {
  const part = await call(here() + `/groups/${id}?limit=100` + (from ? `&after=${from}` : ""));
  const list = node("ul");
  for (const member of part.members || []) {
    const item = node("li");
    item.append(compared(part.leader.id, member.id), " " + (member.url || ""));
    list.append(item);
  }
  if (button) button.remove();
  place.append(list);
  goOn(place, part.next_after, (more) => memberPart(id, place, more, part.next_after));
}

// A button with the name of a document that puts it beside another.
function compared(a, b) {
  const link = node("button", b);
  link.type = "button";
  link.onclick = () => {
    at("a").value = a;
    at("b").value = b;
    guarded(compare);
    at("comparison").scrollIntoView({ behavior: "smooth", block: "center" });
  };
  return link;
}

async function ask() {
  const document = { id: "asked from the page", text: at("text").value };
  const [answer, similar] = await Promise.all([call(here() + "/check", document), call(here() + "/similar", { document })]);
  const line = node("p");
  line.append(node("span", say(answer.verdict), "verdict"));
  if (answer.best) {
    const jaccard = answer.best.jaccard === undefined ? "" : ` · ${say("jaccard")} ${answer.best.jaccard.toFixed(3)}`;
    line.append(` ${say("of")} ${answer.best.id} · ${answer.best.hamming} ${say("bits")}${jaccard} · ${say("group")} ${answer.group_id}`);
  }
  at("answer").replaceChildren(line, nearby(similar));
}

// Lists the leaders near the text that was asked about: duplicates, and near misses marked as such.
function nearby(similar) {
  const list = node("ul");
  for (const hit of similar.hits) {
    const facts = [`${hit.hamming} ${say("bits")}`, hit.jaccard !== undefined && `${say("jaccard")} ${hit.jaccard.toFixed(3)}`,
      `${say("group")} ${hit.group_id}`, !hit.duplicate && say("missed")];
    const item = node("li", hit.id + " · " + facts.filter(Boolean).join(" · "));
    if (!hit.duplicate) item.className = "hint";
    list.append(item);
  }
  const told = [similar.found > similar.hits.length && `${similar.hits.length} / ${similar.found.toLocaleString(language)}`, similar.limited && say("limited")];
  if (told.some(Boolean)) list.append(node("li", told.filter(Boolean).join(" · "), "hint"));
  return list;
}

const segmenter = new Intl.Segmenter("zh", { granularity: "word" });

// Words of one text that the other does not have are marked.
function marked(text, others) {
  const made = node("div");
  for (const { segment, isWordLike } of segmenter.segment(text)) {
    made.append(!isWordLike || others.has(segment.toLowerCase()) ? segment : node("mark", segment));
  }
  return made;
}

const vocabulary = (text) => new Set(Array.from(segmenter.segment(text), (piece) => piece.segment.toLowerCase()));

async function compare() {
  const [a, b] = [at("a").value, at("b").value];
  const pair = `a=${encodeURIComponent(a)}&b=${encodeURIComponent(b)}`;
  const [difference, left, right] = await Promise.all([
    call(here() + "/explain?" + pair),
    call(here() + "/documents/" + encodeURIComponent(a)),
    call(here() + "/documents/" + encodeURIComponent(b)),
  ]);
  const figures = node("p", `${difference.hamming} ${say("bits")} · ${say("jaccard")} ${difference.jaccard.toFixed(4)} (${difference.shingles})`);
  const texts = node("div", undefined, "texts");
  texts.append(marked(left.text, vocabulary(right.text)), marked(right.text, vocabulary(left.text)));
  const features = difference.explanation.features.slice(0, 30);
  const heavy = node("p", features.length ? say("weights") + ": " + features.map((f) => f.feature).join(", ") : "", "hint");
  at("comparison").replaceChildren(figures, texts, heavy);
}

function on(id, kind, work) {
  at(id).addEventListener(kind, (event) => {
    event.preventDefault();
    guarded(work);
  });
}

on("collection", "change", overview);
on("access", "submit", collections);
on("token", "change", collections);
on("ask", "submit", ask);
on("filter", "submit", async () => { after = 0; at("groups").replaceChildren(); await groups(); });
on("more", "click", groups);
on("which", "submit", storiesAnew);
on("state", "change", storiesAnew);
on("further", "click", stories);
on("more-sources", "click", sources);
on("pair", "submit", compare);
on("language", "click", async () => { language = language === "zh" ? "en" : "zh"; translate(); if (at("collection").value) await overview(); });
translate();
guarded(collections);
