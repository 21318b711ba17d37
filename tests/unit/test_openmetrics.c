/* SPDX-License-Identifier: MIT */
/*
 * The plane as OpenMetrics 1.0.0 text.
 *
 * check_text() holds the text against the rules of the format that can be told
 * line by line: a family's TYPE before its samples, each family once and in one
 * piece, names and labels well-formed, no sample twice, "# EOF" at the end. Where
 * the prometheus_client package of Python is installed, its parser reads the text
 * too.
 */
#include "render_help.h"

#include <ctype.h>
#include <errno.h>
#include <unistd.h>

static struct fixture f;

static int begin(void **state)
{
	open_fixture(&f, NULL);
	return 0;
}

static int end(void **state)
{
	close_fixture(&f);
	return 0;
}

/* ---- the checker */

struct names {
	char *name[20000];
	size_t nr;
};

static struct names families, series;

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void keep(struct names *names, const char *s, size_t len)
{
	assert_true(names->nr < sizeof(names->name) / sizeof(names->name[0]));
	names->name[names->nr++] = strndup(s, len);
}

static void check_unique_and_free(struct names *names)
{
	qsort(names->name, names->nr, sizeof(names->name[0]), compare);
	for (size_t i = 1; i < names->nr; i++)
		assert_string_not_equal(names->name[i - 1], names->name[i]);
	for (size_t i = 0; i < names->nr; i++)
		free(names->name[i]);
	names->nr = 0;
}

static size_t name_len(const char *s)
{
	size_t len = 0;

	assert_true(isalpha((unsigned char)s[0]) || s[0] == '_');
	while (isalnum((unsigned char)s[len]) || s[len] == '_')
		len++;
	return len;
}

/* {key="value",...}; returns what follows. */
static const char *check_labels(const char *s)
{
	assert_int_equal(*s, '{');
	do {
		s++;
		s += name_len(s);
		assert_memory_equal(s, "=\"", 2);
		for (s += 2; *s != '"'; s++) {
			assert_true((unsigned char)*s != '\n' && *s);
			if (*s == '\\') {
				s++;
				assert_non_null(strchr("\"\\n", *s));
			}
		}
		s++;
	} while (*s == ',');
	assert_int_equal(*s, '}');
	return s + 1;
}

/* Is @name, of @len bytes, what a family of a type calls its samples? */
static bool is_sample_of(const char *name, size_t len, const char *family,
			 const char *type)
{
	static const struct {
		const char *type, *suffix;
	} suffixes[] = {
		{"counter", "_total"},    {"gauge", ""},
		{"histogram", "_bucket"}, {"histogram", "_count"},
		{"histogram", "_sum"},    {"info", "_info"},
		{"stateset", ""},
	};
	size_t family_len = strlen(family);

	if (len < family_len || strncmp(name, family, family_len) != 0)
		return false;
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		const char *suffix = suffixes[i].suffix;

		if (!strcmp(type, suffixes[i].type) &&
		    len == family_len + strlen(suffix) &&
		    !strncmp(name + family_len, suffix, strlen(suffix)))
			return true;
	}
	return false;
}

static char family[256], type[16];

static void check_meta(const char *line)
{
	char what[8], name[256];

	assert_int_equal(sscanf(line, "# %7s %255s", what, name), 2);
	assert_int_equal(name_len(name), strlen(name));
	if (!strcmp(what, "TYPE")) {
		assert_int_equal(
			sscanf(line, "# TYPE %255s %15s", family, type), 2);
		keep(&families, family, strlen(family));
		return;
	}
	assert_true(!strcmp(what, "HELP") || !strcmp(what, "UNIT"));
	/* Of the family whose TYPE came last. */
	assert_string_equal(name, family);
	if (!strcmp(what, "UNIT")) {
		char unit[64];

		assert_int_equal(sscanf(line, "# UNIT %*s %63s", unit), 1);
		assert_true(strlen(family) > strlen(unit) + 1);
		assert_string_equal(family + strlen(family) - strlen(unit),
				    unit);
	}
}

static void check_sample(const char *line, const char *end_of_line)
{
	size_t len = name_len(line);
	const char *s = line + len;
	char *after;

	assert_true(is_sample_of(line, len, family, type));
	if (*s == '{')
		s = check_labels(s);
	assert_int_equal(*s, ' ');
	keep(&series, line, (size_t)(s - line));
	s++;
	assert_true(isdigit((unsigned char)*s) ||
		    (*s == '-' && !strcmp(type, "gauge")));
	errno = 0;
	if (*s == '-')
		strtoll(s, &after, 10);
	else
		strtoull(s, &after, 10);
	assert_int_equal(errno, 0);
	assert_ptr_equal(after, end_of_line);
}

static void check_text(const char *text)
{
	family[0] = type[0] = '\0';
	while (strncmp(text, "# EOF\n", 6) != 0) {
		const char *end_of_line = strchr(text, '\n');

		assert_non_null(end_of_line);
		assert_true(end_of_line > text);
		if (*text == '#')
			check_meta(text);
		else
			check_sample(text, end_of_line);
		text = end_of_line + 1;
	}
	assert_string_equal(text, "# EOF\n");
	check_unique_and_free(&families);
	check_unique_and_free(&series);
}

static const char *render(void)
{
	clear_output();
	assert_int_equal(sp_render_openmetrics(f.render, take, &output), 0);
	check_text(output.text);
	return output.text;
}

static void assert_line(const char *text, const char *line)
{
	char whole[512];

	snprintf(whole, sizeof(whole), "\n%s\n", line);
	if (!strstr(text, whole))
		print_error("no line: %s\n", line);
	assert_non_null(strstr(text, whole));
}

static unsigned nr_lines_with(const char *text, const char *part)
{
	unsigned nr = 0;

	for (const char *s = text; (s = strstr(s, part)); s++)
		nr++;
	return nr;
}

/* ---- tests */

static const struct sp_mib_item rx_items[] = {
	{"drops", "dropped: \"ring\" full \\ empty", "frames", SP_MIB_COUNTER},
	{"size_octets", "frame sizes", "octets", SP_MIB_HISTOGRAM},
	{"level", NULL, NULL, SP_MIB_GAUGE},
	{"kind", "by kind", "frames", SP_MIB_ARRAY},
};
static const struct sp_mib_group mib_groups[] = {{"rx", "", rx_items, 4}};
static const struct sp_mib_schema mib_schema = {"proxy", mib_groups, 1};

static void kernel_items_carry_their_namespace(void **state)
{
	struct sp_net *other;
	const char *text;

	assert_int_equal(sp_net_create(f.plane, "other", NULL, &other), 0);
	add(&f, sp_net_off(f.net) + SP_NET_CELL(ip, InReceives), UINT64_MAX);
	add(&f, sp_net_off(other) + SP_NET_CELL(ip, InReceives), 2);
	add(&f, sp_net_off(other) + SP_NET_CELL(tcp, CurrEstab), (uint64_t)-3);
	add(&f, sp_net_off(other) + SP_NET_CELL(icmpmsg, OutType[8]), 4);
	text = render();
	assert_line(text, "# TYPE statplane_Ip_InReceives counter");
	assert_line(text, "statplane_Ip_InReceives_total{netns=\"host\"} "
			  "18446744073709551615\n"
			  "statplane_Ip_InReceives_total{netns=\"other\"} 2");
	assert_line(text, "# TYPE statplane_Tcp_CurrEstab gauge");
	assert_line(text, "statplane_Tcp_CurrEstab{netns=\"other\"} -3");
	assert_line(text, "statplane_IcmpMsg_OutType_total{netns=\"other\","
			  "type=\"8\"} 4");
	assert_int_equal(nr_lines_with(text, "statplane_IcmpMsg_OutType_total"),
			 1);
	sp_net_destroy(other);
}

static void device_items_carry_their_device_too(void **state)
{
	struct sp_netdev *dev;
	const char *text;

	assert_int_equal(sp_netdev_create(f.net, "eth0", 0, NULL, &dev), 0);
	add(&f, sp_netdev_off(dev) + SP_NETDEV_CELL(dev, rx_packets), 5);
	add(&f, sp_netdev_off(dev) + SP_NETDEV_CELL(ip6, InReceives), 6);
	text = render();
	assert_line(text, "# UNIT statplane_dev_rx_packets packets");
	assert_line(text, "statplane_dev_rx_packets_total{netns=\"host\","
			  "device=\"eth0\"} 5");
	assert_line(text, "statplane_dev_Ip6_InReceives_total{netns=\"host\","
			  "device=\"eth0\"} 6");
	assert_line(text, "statplane_Ip6_InReceives_total{netns=\"host\"} 0");
}

static void a_programs_own_groups_are_there(void **state)
{
	const struct sp_percpu *percpu = sp_plane_percpu(f.plane);
	struct sp_mib *a, *b;
	const char *text;

	assert_int_equal(sp_mib_create(f.plane, "a", &mib_schema, &a), 0);
	assert_int_equal(sp_mib_create(f.plane, "b", &mib_schema, &b), 0);
	sp_percpu_add(percpu, sp_mib_off(a, 0), 3);
	sp_percpu_add(percpu, sp_mib_off(b, 67), (uint64_t)-9);
	sp_histogram_add(percpu, sp_mib_off(b, 1), 0);
	sp_histogram_add(percpu, sp_mib_off(b, 1), 1);
	sp_histogram_add(percpu, sp_mib_off(b, 1), 1500);
	sp_histogram_add(percpu, sp_mib_off(b, 1), 1ull << 63);
	sp_percpu_add(percpu, sp_mib_off(a, 68 + 255), 2);
	text = render();
	assert_line(text, "# HELP proxy_rx_drops dropped: \\\"ring\\\" full "
			  "\\\\ empty");
	assert_line(text, "proxy_rx_drops_total{mib=\"a\"} 3\n"
			  "proxy_rx_drops_total{mib=\"b\"} 0");
	assert_line(text, "proxy_rx_level{mib=\"b\"} -9");
	assert_line(text, "proxy_rx_kind_total{mib=\"a\",type=\"255\"} 2");
	assert_line(text, "# TYPE proxy_rx_size_octets histogram\n"
			  "# UNIT proxy_rx_size_octets octets");
	assert_line(text,
		    "proxy_rx_size_octets_bucket{mib=\"b\",le=\"0.0\"} 1\n"
		    "proxy_rx_size_octets_bucket{mib=\"b\",le=\"1.0\"} 2\n"
		    "proxy_rx_size_octets_bucket{mib=\"b\",le=\"3.0\"} 2");
	assert_line(text, "proxy_rx_size_octets_bucket{mib=\"b\","
			  "le=\"1023.0\"} 2\n"
			  "proxy_rx_size_octets_bucket{mib=\"b\","
			  "le=\"2047.0\"} 3");
	assert_line(text, "proxy_rx_size_octets_bucket{mib=\"b\","
			  "le=\"9223372036854775807.0\"} 3\n"
			  "proxy_rx_size_octets_bucket{mib=\"b\",le=\"+Inf\"} "
			  "4\n"
			  "proxy_rx_size_octets_count{mib=\"b\"} 4\n"
			  "proxy_rx_size_octets_sum{mib=\"b\"} "
			  "9223372036854777309");
	assert_int_equal(nr_lines_with(text, "proxy_rx_size_octets_bucket{"),
			 2 * 65);
	sp_mib_destroy(a);
	sp_mib_destroy(b);
	/* Without objects no families. */
	assert_null(strstr(render(), "proxy_"));
}

static void label_values_are_escaped(void **state)
{
	struct sp_net *odd;

	assert_int_equal(sp_net_create(f.plane, "a\"b\\c\xfe", NULL, &odd), 0);
	assert_line(render(), "statplane_Udp_NoPorts_total{netns=\"a\\\"b\\\\c"
			      "\xef\xbf\xbd\"} 0");
	sp_net_destroy(odd);
}

/* Families of two schemas, or of two groups, that come out alike. */
static void families_of_one_name_are_kept_apart(void **state)
{
	static const struct sp_mib_item x[] = {
		{"x", "", "", SP_MIB_COUNTER},
		{"x_total", "", "", SP_MIB_GAUGE},
		{"x_2", "", "", SP_MIB_GAUGE},
	};
	static const struct sp_mib_group bc = {"b_c", "", x, 3};
	static const struct sp_mib_group c = {"c", "", x, 1};
	static const struct sp_mib_item info[] = {
		{"info", "", "", SP_MIB_GAUGE}};
	static const struct sp_mib_group plane_group = {"plane", "", info, 1};
	static const struct sp_mib_schema s1 = {"a", &bc, 1};
	static const struct sp_mib_schema s2 = {"a_b", &c, 1};
	static const struct sp_mib_schema s3 = {"a", &c, 1};
	static const struct sp_mib_schema s4 = {"statplane", &plane_group, 1};
	struct sp_mib *mib[4];
	const char *text;

	assert_int_equal(sp_mib_create(f.plane, "m1", &s1, &mib[0]), 0);
	assert_int_equal(sp_mib_create(f.plane, "m2", &s2, &mib[1]), 0);
	assert_int_equal(sp_mib_create(f.plane, "m3", &s3, &mib[2]), 0);
	assert_int_equal(sp_mib_create(f.plane, "m4", &s4, &mib[3]), 0);
	text = render();
	assert_line(text, "a_b_c_x_total{mib=\"m1\"} 0");
	assert_line(text, "a_b_c_x_total_2{mib=\"m1\"} 0");
	assert_line(text, "a_b_c_x_2{mib=\"m1\"} 0");
	assert_line(text, "a_b_c_x_3_total{mib=\"m2\"} 0");
	assert_line(text, "a_c_x_total{mib=\"m3\"} 0");
	assert_line(text, "statplane_plane_info_2{mib=\"m4\"} 0");
	for (int i = 0; i < 4; i++)
		sp_mib_destroy(mib[i]);
}

/* Enough objects that not all items fit into one window, and none is lost. */
static void many_namespaces_are_all_there(void **state)
{
	enum {
		NR_NETS = 1500
	};
	static struct sp_net *nets[NR_NETS];
	char line[128];
	const char *text;

	for (int i = 0; i < NR_NETS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%d", i);
		assert_int_equal(sp_net_create(f.plane, name, NULL, &nets[i]),
				 0);
		add(&f, sp_net_off(nets[i]) + SP_NET_CELL(ip, InReceives),
		    1000 + (uint64_t)i);
		add(&f, sp_net_off(nets[i]) + SP_NET_CELL(tcpext, TCPTimeouts),
		    2000 + (uint64_t)i);
		add(&f,
		    sp_net_off(nets[i]) + SP_NET_CELL(icmp6msg, OutType[255]),
		    3000 + (uint64_t)i);
	}
	clear_output();
	assert_int_equal(sp_render_openmetrics(f.render, take, &output), 0);
	text = output.text;
	for (int i = 0; i < NR_NETS; i += 499) {
		snprintf(line, sizeof(line),
			 "statplane_Ip_InReceives_total{netns=\"n%d\"} %d", i,
			 1000 + i);
		assert_line(text, line);
		snprintf(line, sizeof(line),
			 "statplane_TcpExt_TCPTimeouts_total{netns=\"n%d\"} %d",
			 i, 2000 + i);
		assert_line(text, line);
		snprintf(line, sizeof(line),
			 "statplane_Icmp6Msg_OutType_total{netns=\"n%d\","
			 "type=\"255\"} %d",
			 i, 3000 + i);
		assert_line(text, line);
	}
	assert_int_equal(nr_lines_with(text, "statplane_Ip_InReceives_total{"),
			 NR_NETS + 1);
	assert_int_equal(nr_lines_with(text, "statplane_UdpLite6_MemErrors_"
					     "total{"),
			 NR_NETS + 1);
	for (int i = 0; i < NR_NETS; i++)
		sp_net_destroy(nets[i]);
}

static struct sp_net *leaving;

static int take_and_destroy(void *ctx, const char *text, size_t len)
{
	sp_net_destroy(leaving);
	leaving = NULL;
	return take(ctx, text, len);
}

/* A namespace that goes away while the text is made has no samples any more. */
static void what_goes_away_is_left_out(void **state)
{
	unsigned nr_families;

	assert_int_equal(sp_net_create(f.plane, "leaving", NULL, &leaving), 0);
	for (size_t off = 0; off < sizeof(struct sp_net_cells); off += 8)
		add(&f, sp_net_off(leaving) + off, 1);
	nr_families = nr_lines_with(render(), "{netns=\"host\"}");
	assert_int_equal(nr_lines_with(output.text, "{netns=\"leaving\"}"),
			 nr_families);
	clear_output();
	assert_int_equal(
		sp_render_openmetrics(f.render, take_and_destroy, &output), 0);
	check_text(output.text);
	assert_int_equal(nr_lines_with(output.text, "{netns=\"host\"}"),
			 nr_families);
	assert_in_range(nr_lines_with(output.text, "{netns=\"leaving\"}"), 1,
			nr_families - 1);
	assert_null(strstr(render(), "leaving"));
}

static int refuse(void *ctx, const char *text, size_t len)
{
	return -EPIPE;
}

static void an_error_of_the_callback_is_passed_on(void **state)
{
	assert_int_equal(sp_render_openmetrics(f.render, refuse, NULL), -EPIPE);
	render();
}

static void another_parser_reads_it(void **state)
{
	static const char parse[] =
		"/usr/bin/python3 -c '"
		"import sys\n"
		"from prometheus_client.openmetrics.parser import "
		"text_string_to_metric_families as parse\n"
		"fams = list(parse(open(sys.argv[1]).read()))\n"
		"print(len(fams), sum(len(x.samples) for x in fams))' ";
	static char command[1024];
	char path[] = "/tmp/openmetrics-XXXXXX";
	struct sp_netdev *dev;
	struct sp_mib *mib;
	FILE *pipe;
	int fd, nr_families, nr_samples;

	if (system("/usr/bin/python3 -c 'import prometheus_client' "
		   ">/dev/null 2>&1") != 0) {
		print_message("no Python package prometheus_client here\n");
		skip();
	}
	assert_int_equal(sp_netdev_create(f.net, "eth0", 0, NULL, &dev), 0);
	assert_int_equal(sp_mib_create(f.plane, "a\"\\", &mib_schema, &mib), 0);
	sp_histogram_add(sp_plane_percpu(f.plane), sp_mib_off(mib, 1), 77);
	render();
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, output.text, output.len), output.len);
	close(fd);
	snprintf(command, sizeof(command), "%s %s", parse, path);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	assert_int_equal(fscanf(pipe, "%d %d", &nr_families, &nr_samples), 2);
	assert_int_equal(pclose(pipe), 0);
	unlink(path);
	assert_int_equal(nr_families, nr_lines_with(output.text, "# TYPE "));
	assert_int_equal(nr_samples,
			 nr_lines_with(output.text, "\n") -
				 nr_lines_with(output.text, "\n# ") - 1);
	sp_mib_destroy(mib);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(kernel_items_carry_their_namespace),
		TEST(device_items_carry_their_device_too),
		TEST(a_programs_own_groups_are_there),
		TEST(label_values_are_escaped),
		TEST(families_of_one_name_are_kept_apart),
		TEST(many_namespaces_are_all_there),
		TEST(what_goes_away_is_left_out),
		TEST(an_error_of_the_callback_is_passed_on),
		TEST(another_parser_reads_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
